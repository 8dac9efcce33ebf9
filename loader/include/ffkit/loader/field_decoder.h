// FieldDecoder: makes one array of a batch from its records: from N records an array of dtype() and
// shape [N, shape()...].
//
//   record ─▶ decode_image()   ─▶ "image"  [N, 3, 224, 224] f32
//          ─▶ decode_integer() ─▶ "label"  [N] i64
//          ─▶ a user's own     ─▶ ...
//
// A decoder sees the whole record, so it may combine several fields. Its result must depend on the
// record and the key alone; then batches are the same for any number of threads and ranks. It draws
// random numbers from CounterRandom(key, stream). Two decoders that draw from the same stream get
// the same numbers, so that a picture and its boxes can be flipped alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/random.h>

namespace ffkit {

class FieldDecoder {
 public:
  // What a decoder did, for LoaderStatistics.
  struct Work {
    // Its time to resize, flip, normalise and write to `out`. The rest of its time is
    // decoding.
    int64_t transform_ns = 0;
    // The reads that it does itself; CountedRead counts them.
    int64_t num_reads = 0;
    int64_t bytes_read = 0;
    int64_t read_wait_ns = 0;
    // It resized a grey picture of 16 bits, whose values may be numbers of classes. The loader
    // warns of that once.
    bool resized_grey_of_16_bits = false;
    // Bad items of the sample, such as boxes without area, that it left out, and which: "box 3 of
    // field 'boxes' has no area". The loader counts them and warns of the first.
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
  // Called once for each decoding thread.
  [[nodiscard]] virtual std::unique_ptr<Scratch> make_scratch() const { return nullptr; }
  // Writes one sample, product(shape()) numbers of dtype(), to `out`, which holds what an earlier
  // batch left there. `out` is aligned to the size of dtype(), no more: the samples of a batch lie
  // behind each other, the first one at a multiple of 4096. Called by many threads at once, each
  // with a scratch and an `out` of its own; it must write nothing else. Throws Error(corrupt),
  // Error(unsupported) or Error(not_found) for a bad sample: LoaderOptions::bad_samples says what
  // happens then, and the record is added to the message. The Error may name a file of the
  // decoder's own. Any other exception ends the epoch, and so does an Error about
  // ErrorSubject::shard or dataset. std::bad_alloc comes out of next() as Error(io).
  virtual void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
                      void* out) const = 0;
  // For decoders that also read other records: the I/O thread calls this when it plans to read
  // record `record_index` of the whole split, so that the decoder can announce the others to the
  // kernel (posix_fadvise). Must not block. CountedRead counts these reads.
  virtual void will_read(int64_t record_index) const noexcept;
};

// An exception that a decoder may throw beside Error, and that is told where it happened. The
// thread that threw it tells it the field of the batch and the record, in words, before it comes
// out of next().
class PlacedFailure : public std::exception {
 public:
  virtual void happened_in(const std::string& place) const noexcept = 0;
};

// A decoder for samples that take a millisecond or more, such as several pictures. It decodes them
// in parts that write different memory, and idle threads share the parts of a sample.
class PartsDecoder : public FieldDecoder {
 public:
  // Must not change.
  [[nodiscard]] virtual int64_t num_parts() const = 0;
  // As decode(), of part 0 .. num_parts()-1 alone; `out` is where the sample begins. Called in any
  // order and by many threads at once.
  virtual void decode_part(const RecordView& record, const SampleKey& key, int64_t part,
                           Scratch* scratch, void* out) const = 0;
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

// How the rows of a RowsDecoder lie in a batch.
enum class RowLayout {
  // those of all samples behind each other, [total, shape()...]: Batch::row_offsets() says where
  // each sample's begin
  ragged,
  // [N, max_rows, shape()...], zeros behind the rows of a sample; Batch::row_offsets() says how
  // many they are
  padded,
};

// A decoder of any number of rows for each sample, such as points or boxes, up to max_rows().
class RowsDecoder : public FieldDecoder {
 public:
  // shape() is the shape of one row. Neither of these may change.
  [[nodiscard]] virtual int64_t max_rows() const = 0;
  [[nodiscard]] virtual RowLayout layout() const { return RowLayout::ragged; }
  // As decode(); writes at most max_rows() rows and returns how many. Any other number ends the
  // epoch: Error(invalid_argument).
  virtual int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* scratch,
                              void* out) const = 0;
  // The rows and zeros behind them up to max_rows().
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

// A decoder of rows in parts, which idle threads share as those of a PartsDecoder: the rows of part
// 0, then those of part 1, and so on. An example is one cloud from several sweeps. The place of a
// part's rows is known once the parts before it are counted or written. So one thread takes a part
// in steps, with one scratch, in which a step keeps what the next ones need:
//
//   begin_part() ─▶ count_rows() ─▶ write_rows()
//
// count_rows() is left out where no other thread is at the parts of the sample.
class RowPartsDecoder : public RowsDecoder {
 public:
  // Must not change.
  [[nodiscard]] virtual int64_t num_parts() const = 0;
  // What takes long: reads, decompresses, decodes. Errors are those of decode(), here and in the
  // other steps.
  virtual void begin_part(const RecordView& record, const SampleKey& key, int64_t part,
                          Scratch* scratch) const = 0;
  // How many rows the part has. Cheap beside begin_part(): others wait for it.
  virtual int64_t count_rows(const RecordView& record, const SampleKey& key, int64_t part,
                             Scratch* scratch) const = 0;
  // Writes the part's rows to `out`, where `room` of them fit, and returns how many: all or, where
  // there are more, `room`. Any other number ends the epoch: Error(invalid_argument).
  virtual int64_t write_rows(const RecordView& record, const SampleKey& key, int64_t part,
                             Scratch* scratch, int64_t room, void* out) const = 0;
  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* scratch,
                      void* out) const final;
};

// A decoder of texts, or other bytes, of any length, for Batch::strings(): ragged rows of u8. Texts
// lie beside the slab, so a batch takes only the memory that its texts need. Batch::allocator()
// does not know them.
class TextDecoder : public FieldDecoder {
 public:
  [[nodiscard]] DType dtype() const final { return DType::u8; }
  [[nodiscard]] std::vector<int64_t> shape() const final { return {}; }
  // The text of a sample, which lies in the record or in the scratch. Errors are those of decode().
  virtual std::string_view decode_text(const RecordView& record, const SampleKey& key,
                                       Scratch* scratch) const = 0;
  // Throws Error(invalid_argument): there is no room that fits.
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

// Fields are looked up in `schema`: Error(not_found) when it lacks `field`, Error(invalid_argument)
// when it is of a type that cannot serve.

// A picture: [3, H, W] or [H, W, 3] of options.output.dtype. `field` is an image or bytes. Pictures
// of one record that are decoded with the same options get the same crop and flip, where their
// sizes agree. A PNG with a palette is a bad sample, Error(unsupported), where it would be resized:
// its pixels are numbers of classes more often than colours, and MaskField keeps them.
std::shared_ptr<const FieldDecoder> decode_image(const Schema& schema, const std::string& field,
                                                 const ImageOptions& options);
// Pictures of several fields, the cameras of a vehicle, as one array: [number of fields, 3, H, W]
// or [.., H, W, 3]. Picture i is what decode_image() would make with image_key(key, i), bad samples
// included. Each picture is a part.
std::shared_ptr<const FieldDecoder> decode_images(const Schema& schema,
                                                  const std::vector<std::string>& fields,
                                                  const ImageOptions& options);
// `key` itself for picture 0, independent keys for the others.
SampleKey image_key(const SampleKey& key, size_t image);
// A scalar of any integer type as i64.
std::shared_ptr<const FieldDecoder> decode_integer(const Schema& schema, const std::string& field);
// A scalar ({}), or a tensor that has this shape in all records (else Error(corrupt)), as it is.
std::shared_ptr<const FieldDecoder> copy_field(const Schema& schema, const std::string& field,
                                               std::vector<int64_t> shape = {});
// A string, such as an id or a caption, for Batch::strings(); null as an empty text. A text of more
// than `max_bytes` is a bad sample, Error(unsupported); 0: any length is right.
std::shared_ptr<const FieldDecoder> copy_string(const Schema& schema, const std::string& field,
                                                int64_t max_bytes = 0);

// For a data set in which some records lack a field, such as a Dataset::chain() of sets with and
// without depth. For the decoders above, except copy_string(), a record in which the field is null
// is a bad sample. With these it is an ordinary sample: zeros in the array, and a mask beside it.
//
//   .fields = {{"depth", zeros_where_null(schema, "depth", copy_field(schema, "depth"))},
//              {"depth_valid", decode_valid(schema, "depth")}}

// u8, 1 where the field is not null and 0 where it is: {} of one field, [number of fields] of
// several. A field of any type.
std::shared_ptr<const FieldDecoder> decode_valid(const Schema& schema, const std::string& field);
std::shared_ptr<const FieldDecoder> decode_valid(const Schema& schema,
                                                 const std::vector<std::string>& fields);
// What `decoder` makes, or zeros where `field` is null in the record: for a RowsDecoder no rows,
// for a TextDecoder an empty text. The parts of a PartsDecoder stay parts; those of a
// RowPartsDecoder are decoded by one thread. `decoder` must not need other fields that may be null.
// Throws Error(invalid_argument) when `decoder` is null.
std::shared_ptr<const FieldDecoder> zeros_where_null(const Schema& schema, const std::string& field,
                                                     std::shared_ptr<const FieldDecoder> decoder);

// An array of the batches and its name, by which Batch::field() finds it.
struct BatchField {
  std::string name;
  std::shared_ptr<const FieldDecoder> decoder;
};

// CountedRead: counts a read by a field decoder, such as of a further record, in LoaderStatistics.
// A slow disk is then not taken for slow decoding.
//
//   {
//     ffkit::CountedRead read(*scratch);
//     sweeps.read(number, bytes);
//     read.add_bytes(bytes.size());
//   }
//
// If the thread slept between construction and destruction, the time in which it did not run counts
// as reading. The time in which it ran, such as copying from the page cache, counts as decoding. An
// object belongs to one thread. It takes 0.5 us.
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
