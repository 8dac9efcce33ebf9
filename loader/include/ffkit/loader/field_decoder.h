// FieldDecoder: makes one array of a batch: from N records an array of dtype() and shape [N,
// shape()...].
//
//   record ─▶ decode_image()   ─▶ "image"  [N, 3, 224, 224] f32
//          ─▶ decode_integer() ─▶ "label"  [N] i64
//          ─▶ a user's own     ─▶ ...
//
// A decoder sees the whole record, so it may combine several fields. Its result must depend only on
// the record and the key, so that batches are the same for any number of threads and ranks. It
// takes random numbers from CounterRandom(key, stream). Two decoders with the same stream get the
// same numbers, so a picture and its boxes can be flipped alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/random.h>

namespace ffkit {

class FieldDecoder {
 public:
  // The work of a decoder, for LoaderStatistics.
  struct Work {
    // Its time to resize, flip, normalise and write to `out`. The rest of its time is
    // decoding.
    int64_t transform_ns = 0;
    // The reads that it does itself; CountedRead counts them.
    int64_t num_reads = 0;
    int64_t bytes_read = 0;
    int64_t read_wait_ns = 0;
    // It resized a grey picture with 16 bits; its values may be numbers of classes. The loader
    // warns once.
    bool resized_grey_of_16_bits = false;
    // Number and description of bad items that it left out: "box 3 of field 'boxes' has no area".
    // The loader counts them and warns of the first.
    int64_t num_items_left_out = 0;
    std::string left_out = {};
  };
  // Memory that one decoding thread keeps from sample to sample.
  class Scratch {
   public:
    virtual ~Scratch() = default;
    Work work;  // a decoder may add to it; the loader takes it after each sample or part
    // The record of the whole split that decode() is called for; the loader sets it. -1: not known.
    int64_t record_index = -1;
  };

  virtual ~FieldDecoder() = default;
  // Type and shape of a sample, without the batch's dimension; {} is one number. Never change.
  [[nodiscard]] virtual DType dtype() const = 0;
  [[nodiscard]] virtual std::vector<int64_t> shape() const = 0;
  // The fields that it reads of its record, by their positions in the schema. Where all decoders of
  // a batch name theirs, the loader reads only these fields of large records, and a field that no
  // decoder names raises Error(invalid_argument). Nothing: any field. Must not change.
  [[nodiscard]] virtual std::optional<std::vector<size_t>> inputs() const { return std::nullopt; }
  // Called once for each decoding thread.
  [[nodiscard]] virtual std::unique_ptr<Scratch> make_scratch() const { return nullptr; }
  // Writes one sample, product(shape()) numbers of dtype(), to `out`, which contains old values.
  // `out` is aligned only to the size of dtype(); the samples of a batch follow each other, the
  // first one at a multiple of 4096. Many threads call it at once, each with its own scratch and
  // `out`; it must write nothing else. Throws Error(corrupt), Error(unsupported) or
  // Error(not_found) for a bad sample (see LoaderOptions::bad_samples); the loader adds the record
  // to the message. The Error may name another file. Any other exception ends the epoch, and so
  // does an Error with ErrorSubject::shard or dataset. next() throws std::bad_alloc as Error(io).
  virtual void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
                      void* out) const = 0;
  // For decoders that also read other records. The I/O thread calls this when it plans to read
  // record `record_index` of the whole split, so that the decoder can announce the other records to
  // the kernel (posix_fadvise). Must not block. CountedRead counts these reads.
  virtual void will_read(int64_t record_index) const noexcept;
};

// An exception, other than Error, that gets its place: before next() throws it, the decoding thread
// adds the field of the batch and the record, in words.
class PlacedFailure : public std::exception {
 public:
  virtual void happened_in(const std::string& place) const noexcept = 0;
};

// A decoder for samples that take a millisecond or more, such as several pictures. It decodes a
// sample in parts, which write to different memory; idle threads share the parts.
class PartsDecoder : public FieldDecoder {
 public:
  // Must not change.
  [[nodiscard]] virtual int64_t num_parts() const = 0;
  // Like decode(), for one part, 0 .. num_parts()-1; `out` is the begin of the sample. Called in
  // any order and by many threads at once.
  virtual void decode_part(const RecordView& record, const SampleKey& key, int64_t part,
                           Scratch* scratch, void* out) const = 0;
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

// Layout of a RowsDecoder's rows in a batch.
enum class RowLayout {
  // rows of all samples after each other, [total, shape()...]; Batch::row_offsets() has the begin
  // of each sample
  ragged,
  // [N, max_rows, shape()...], zeros after the rows of a sample; Batch::row_offsets() has their
  // number
  padded,
};
template <>
inline constexpr auto kNames<RowLayout> =
    enum_names<RowLayout>("layout", {{RowLayout::ragged, "ragged"}, {RowLayout::padded, "padded"}});

// A decoder of any number of rows for each sample, such as points or boxes, up to max_rows().
class RowsDecoder : public FieldDecoder {
 public:
  // shape() is the shape of one row. Neither of these may change.
  [[nodiscard]] virtual int64_t max_rows() const = 0;
  [[nodiscard]] virtual RowLayout layout() const { return RowLayout::ragged; }
  // Like decode(); writes at most max_rows() rows and returns their number. Another number ends the
  // epoch: Error(invalid_argument).
  virtual int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* scratch,
                              void* out) const = 0;
  // The rows and zeros behind them up to max_rows().
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

// A decoder of rows in parts, for example one cloud from several sweeps: the rows of part 0, then
// those of part 1, and so on. Idle threads share the parts. A part's rows have their place only
// after the earlier parts are counted or written. So a thread decodes a part in steps, which share
// its scratch:
//
//   begin_part() ─▶ count_rows() ─▶ write_rows()
//
// count_rows() is not called if no other thread works on the sample.
class RowPartsDecoder : public RowsDecoder {
 public:
  // Must not change.
  [[nodiscard]] virtual int64_t num_parts() const = 0;
  // The slow step: reads, decompresses, decodes. Errors are those of decode(), also in the other
  // steps.
  virtual void begin_part(const RecordView& record, const SampleKey& key, int64_t part,
                          Scratch* scratch) const = 0;
  // The number of rows of the part. Must be cheap: others wait for it.
  virtual int64_t count_rows(const RecordView& record, const SampleKey& key, int64_t part,
                             Scratch* scratch) const = 0;
  // Writes the rows of the part to `out`, at most `room`, and returns their number: all rows, or
  // `room` if there are more. Another number ends the epoch: Error(invalid_argument).
  virtual int64_t write_rows(const RecordView& record, const SampleKey& key, int64_t part,
                             Scratch* scratch, int64_t room, void* out) const = 0;
  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* scratch,
                      void* out) const final;
};

// A decoder of texts or other bytes of any length, for Batch::strings(): ragged rows of u8. Texts
// are stored outside of the slab, so a batch uses only the memory that its texts need.
// Batch::allocator() does not manage them.
class TextDecoder : public FieldDecoder {
 public:
  [[nodiscard]] DType dtype() const final { return DType::u8; }
  [[nodiscard]] std::vector<int64_t> shape() const final { return {}; }
  // The text of a sample; it points into the record or the scratch. Errors are those of decode().
  virtual std::string_view decode_text(const RecordView& record, const SampleKey& key,
                                       Scratch* scratch) const = 0;
  // Throws Error(invalid_argument): there is no room that fits.
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

// Fields are looked up in `schema`: Error(not_found) if it lacks `field`, Error(invalid_argument)
// if the field has an unsuitable type.

// A picture: [3, H, W] or [H, W, 3] of options.output.dtype. `field` is an image or bytes. Pictures
// of one record with equal sizes and options get the same crop and flip. A PNG with a palette is a
// bad sample, Error(unsupported), if it would be resized, because its pixels are usually numbers of
// classes; MaskField keeps them.
std::shared_ptr<const FieldDecoder> decode_image(const Schema& schema, const std::string& field,
                                                 const ImageOptions& options);
// Pictures of several fields, such as the cameras of a vehicle, as one array: [number of fields, 3,
// H, W] or [.., H, W, 3]. Picture i is the result of decode_image() with image_key(key, i), also
// for bad samples. Each picture is a part.
std::shared_ptr<const FieldDecoder> decode_images(const Schema& schema,
                                                  const std::vector<std::string>& fields,
                                                  const ImageOptions& options);
// `key` itself for picture 0, independent keys for the others.
SampleKey image_key(const SampleKey& key, size_t image);
// A scalar of any integer type as i64.
std::shared_ptr<const FieldDecoder> decode_integer(const Schema& schema, const std::string& field);
// A scalar ({}), or a tensor with this shape in all records (else Error(corrupt)), unchanged.
std::shared_ptr<const FieldDecoder> copy_field(const Schema& schema, const std::string& field,
                                               std::vector<int64_t> shape = {});
// A string, such as an id or a caption, for Batch::strings(); null is an empty text. A text with
// more than `max_bytes` is a bad sample, Error(unsupported); 0: no limit.
std::shared_ptr<const FieldDecoder> copy_string(const Schema& schema, const std::string& field,
                                                int64_t max_bytes = 0);

// For data sets with a field that some records lack, such as a Dataset::chain() of sets with and
// without depth. With the decoders above, except copy_string(), a null field makes a bad sample.
// With these it is an ordinary sample, with zeros in the array and a mask beside it.
//
//   .fields = {{"depth", zeros_where_null(schema, "depth", copy_field(schema, "depth"))},
//              {"depth_valid", decode_valid(schema, "depth")}}

// u8, 1 if the field is not null, else 0: {} for one field, [number of fields] for several. Fields
// of any type.
std::shared_ptr<const FieldDecoder> decode_valid(const Schema& schema, const std::string& field);
std::shared_ptr<const FieldDecoder> decode_valid(const Schema& schema,
                                                 const std::vector<std::string>& fields);
// The result of `decoder`; if `field` is null in the record, zeros, for a RowsDecoder no rows, for
// a TextDecoder an empty text. A PartsDecoder keeps its parts; one thread decodes those of a
// RowPartsDecoder. `decoder` must not need other fields that may be null. Throws
// Error(invalid_argument) if `decoder` is null.
std::shared_ptr<const FieldDecoder> zeros_where_null(const Schema& schema, const std::string& field,
                                                     std::shared_ptr<const FieldDecoder> decoder);

// An array of the batches and its name, by which Batch::field() finds it.
struct BatchField {
  std::string name;
  std::shared_ptr<const FieldDecoder> decoder;
};

// CountedRead: counts a read by a field decoder, for example of another record, in
// LoaderStatistics, so that a slow disk does not look like slow decoding.
//
//   {
//     ffkit::CountedRead read(*scratch);
//     sweeps.read(number, bytes);
//     read.add_bytes(bytes.size());
//   }
//
// If the thread sleeps between construction and destruction, the time of sleep counts as reading.
// The rest, such as copying from the page cache, counts as decoding. An object belongs to one
// thread. It costs 0.5 us.
class CountedRead {
 public:
  // `scratch` must outlive this.
  explicit CountedRead(FieldDecoder::Scratch& scratch);
  ~CountedRead();
  CountedRead(const CountedRead&) = delete;
  CountedRead& operator=(const CountedRead&) = delete;

  void add_bytes(size_t num_bytes);

 private:
  struct Moment {
    int64_t ns;
    int64_t running_ns;  // of this thread
    int64_t num_sleeps;  // likewise
  };
  static Moment now();

  FieldDecoder::Work& work_;
  const Moment begin_;
};

}  // namespace ffkit
