// SlabPool: all slabs of a loader, made at once and recycled. BatchSlab: a batch in one of them,
// with what is done to it before it is handed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/slab_allocator.h>

namespace ffkit {

// SlabLayout: where the arrays of a batch lie in its slab.
//
//   | field 0: [batch_size, shape...] | pad to 4096 | field 1: ... | pad |
//
// Texts (TextDecoder) lie elsewhere, in SlabTexts.
class RowListsDecoder;

inline constexpr size_t kSlabAlignment = 4096;  // of each array in memory

struct SlabField {
  std::string name;
  DType dtype = DType::u8;
  std::vector<int64_t> shape;  // of a sample; of ragged rows that of a row
  size_t offset = 0;           // of the array in the slab
  size_t bytes_per_sample = 0;
  int64_t num_parts = 1;  // in which it is decoded
  // The decoder, where it is of this kind.
  const PartsDecoder* parts = nullptr;
  const RowsDecoder* rows = nullptr;
  const RowPartsDecoder* row_parts = nullptr;
  const RowListsDecoder* lists = nullptr;
  const TextDecoder* texts = nullptr;
  bool has_rows = false;  // rows or texts
  int64_t num_lists = 1;  // of rows, of each sample
  int64_t max_rows = 0;   // of each list
  size_t bytes_per_row = 0;
  size_t bytes_per_list = 0;
  bool is_ragged = false;
};

// Arrays of a view that ends with PadToLargest: they are cut to the largest picture of a batch.
struct PaddedView {
  size_t view = 0;   // in SlabLayout::views
  size_t sizes = 0;  // the field of its pictures' heights and widths, i64 [.., 2]
  ImageSize canvas = 0;
  int64_t multiple = 1;
  struct Array {
    size_t field;
    size_t height_axis;  // in the shape of a sample, or of a ragged row; the width is the next one
  };
  std::vector<Array> arrays;
};

struct SlabLayout {
  std::vector<SlabField> fields;
  int image = -1;          // index in `fields` of what Batch::images() gives, -1: nothing
  int label = -1;          // likewise of Batch::labels()
  size_t num_visible = 0;  // fields that have a number of their own in the batch; they come first
  // Names of the views. Behind the visible fields come the size of the picture, the geometry of
  // each view, and the sizes of the pictures of padded views.
  std::vector<std::string> views;
  std::vector<PaddedView> padded;
  Layout image_layout = Layout::nchw;
  size_t num_bytes = 0;
};

// Throws Error(invalid_argument) for no field, names that are empty or not unique, arrays too large
// to be, and decoders of no part.
SlabLayout make_slab_layout(const std::vector<BatchField>& fields, int64_t batch_size);

// SlabTexts: the texts of one field of a batch, beside its slab, which has no room for what may be
// of any length.
//
//   decoding threads, in any order    add()    | text 2 | text 0 | text 1 |
//   who finishes the batch            join()   | text 0 | text 1 | text 2 |
//
// Its memory grows to what the largest batch needs, and stays. add() is thread-safe; the other
// functions are the loader's when no thread adds, and then the batch's.
class SlabTexts {
 public:
  SlabTexts();

  // Drops what is there. add() then takes the samples 0 .. num_samples-1.
  void begin(int64_t num_samples);
  // The text of a sample; takes the place of what was added for it before. Throws std::bad_alloc.
  void add(int64_t index_in_batch, std::string_view text);
  // Sample `to` gets the text of sample `from`.
  void move(int64_t from, int64_t to) { begins_[to] = begins_[from]; }
  // Puts them behind each other: that of sample i goes to offsets[i] .. offsets[i + 1]. Allocates
  // nothing.
  void join(std::span<const int64_t> offsets);
  // The same texts as `other`, which is joined. Throws std::bad_alloc.
  void copy_joined(const SlabTexts& other, size_t num_bytes);

  // The joined texts; never null.
  std::byte* data() const { return joined_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kSlabAlignment});
    }
  };
  void make_room_to_join(size_t num_bytes);

  std::mutex mutex_;  // guards added_ and begins_ while threads add
  std::vector<char> added_;
  std::vector<size_t> begins_;  // in added_, by sample
  std::unique_ptr<std::byte, Delete> joined_;
  size_t joined_capacity_ = 0;
};

class SlabPool;

// A batch in memory. Written by the loader's threads until it is handed over, then the Batch's
// alone.
struct BatchSlab {
  SlabPool* pool = nullptr;
  std::byte* memory = nullptr;               // as the pool's layout says; may be null while free
  std::vector<std::vector<int64_t>> shapes;  // of the fields, {size, ...}
  std::vector<std::unique_ptr<SlabTexts>> texts;  // of the fields that have texts; null of others
  // Of the fields that have rows, [lists + 1], where each sample has num_lists of them: until
  // join_rows() the number of rows of list i at i + 1, then where they begin at i.
  std::vector<std::vector<int64_t>> row_offsets;
  std::vector<int64_t> record_indices;  // [size]
  std::vector<int32_t> sources;         // [size], of the records
  // Of a mixture [size], as Sampler::batch() has them; empty otherwise.
  std::vector<int64_t> repetitions;
  std::vector<Replacement> replacements;  // in the order of the batch once it is handed over
  std::vector<LeftOut> left_out;          // likewise once drop_left_out() has taken them out
  int64_t size = 0;
  int64_t epoch = 0;
  int64_t step = 0;
  int64_t position = 0;  // of the first sample in the epoch's sequence
  double mix_lambda = 1;

  // For `num_samples` samples of which nothing is there yet.
  void begin_rows(int64_t num_samples);
  // Before join_rows(): sample `to` becomes sample `from`.
  void move_sample(int64_t from, int64_t to);
};

// Takes samples that are left out of the arrays of a batch whose others are all there, in place.
void drop_left_out(const SlabLayout& layout, BatchSlab& slab);
// Then makes the rows of the batch one array without gaps, in place.
void join_rows(const SlabLayout& layout, BatchSlab& slab);
// Then makes the arrays of padded views as large as the largest picture of the batch, in place, and
// sets their shapes.
void cut_padding(const SlabLayout& layout, BatchSlab& slab);

// Lives as long as the loader or the last Batch, whichever is longer. Thread-safe.
class SlabPool : public std::enable_shared_from_this<SlabPool> {
 public:
  SlabPool(std::shared_ptr<SlabAllocator> allocator, int64_t num_slabs, int64_t batch_size,
           SlabLayout layout);
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  const SlabLayout& layout() const { return layout_; }
  SlabAllocator& allocator() const { return *allocator_; }
  int64_t num_slabs() const { return std::ssize(slabs_); }
  // Of all slabs together.
  int64_t num_bytes() const { return num_slabs() * static_cast<int64_t>(layout_.num_bytes); }

  // A slab to fill. Precondition: there is a free one. Throws what the allocator throws, and
  // Error(io) for std::bad_alloc, where slabs go back with each batch.
  BatchSlab* acquire();
  // Gives back a slab that was not handed over.
  void discard(BatchSlab* slab);
  // Makes `slab` a Batch, which gives it back when destroyed.
  Batch hand_over(BatchSlab* slab);
  // Number of batches handed over and still alive.
  int64_t num_held() const;

 private:
  friend class Batch;
  void give_back(BatchSlab* slab);
  void allocate(BatchSlab& slab);

  const std::shared_ptr<SlabAllocator> allocator_;
  const SlabLayout layout_;
  std::vector<BatchSlab> slabs_;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<BatchSlab*> free_;
  int64_t num_held_ = 0;
};

}  // namespace ffkit
