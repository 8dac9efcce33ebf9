// Batch: one batch of decoded samples, as arrays by name. Batches of classification data have a
// picture and a label. Move-only: a batch uses a slab of the loader and returns it when it is
// destroyed.
//
// A batch may be destroyed on any thread, also after its Loader. Its memory stays valid and
// unchanged as long as the batch lives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/image/transform.h>

namespace ffkit {

struct BatchSlab;  // private to the loader
class SlabAllocator;

// An array of a batch. Points into the batch.
struct BatchArray {
  DType dtype = DType::u8;
  std::span<const int64_t> shape;  // {N, ...}
  void* data = nullptr;            // contiguous, row-major, aligned to 4096 bytes
  [[nodiscard]] size_t num_bytes() const;
};

// A sample that was replaced because its record is bad (BadSamples::skip).
struct Replacement {
  int64_t index_in_batch = 0;
  // The bad record, a number as in record_indices(). record_indices()[index_in_batch] replaces it.
  int64_t bad_record = 0;
  std::string reason;  // the message of its Error, which names file and record
};
// A sample that was left out because its record is bad (BadSamples::skip if each record counts
// once). index_in_batch is the place that it would have had.
using LeftOut = Replacement;

// An array of a view that ends with PadToLargest.
struct PaddedArray {
  std::string_view name;
  std::string_view view;
  size_t height_axis = 0;  // of BatchArray::shape; the width is the next one
};

class Batch {
 public:
  Batch();  // empty, as is a batch that was moved from
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Returns a copy in separate memory. It does not count among held_batches. Throws Error(io) if
  // there is not enough memory.
  [[nodiscard]] Batch copy() const;

  // Number of samples. Less than batch_size only in the last batch with Tail::exact, and if
  // left_out() has samples.
  [[nodiscard]] int64_t size() const noexcept;
  // [size] numbers of the records in the data set.
  [[nodiscard]] std::span<const int64_t> record_indices() const noexcept;
  // [size] number of each sample's data set in a chain, see Dataset::source_of(); otherwise 0.
  [[nodiscard]] std::span<const int32_t> source() const noexcept;
  [[nodiscard]] int64_t epoch() const noexcept;
  // Number of the batch on this rank, counted from the start of the epoch.
  [[nodiscard]] int64_t step() const noexcept;
  // Samples that replace bad ones, in the order of the batch; empty unless
  // LoaderOptions::bad_samples is skip.
  [[nodiscard]] std::span<const Replacement> replacements() const noexcept;
  // Bad samples that are missing in the batch, without a replacement; the batch may even be empty.
  [[nodiscard]] std::span<const LeftOut> left_out() const noexcept;

  // All arrays, in order: the picture (or its views) and the label, if LoaderOptions has them, then
  // its `fields` and `view_fields`. An empty batch has none. Functions that take a number throw
  // Error(invalid_argument) unless it is 0 .. num_fields()-1.
  [[nodiscard]] size_t num_fields() const noexcept;
  [[nodiscard]] std::string_view field_name(size_t i) const;
  [[nodiscard]] BatchArray field(size_t i) const;
  // Throws Error(not_found), which lists the names of the batch.
  [[nodiscard]] BatchArray field(std::string_view name) const;
  // Whether field `i` has row_offsets(), and whether it has strings().
  [[nodiscard]] bool has_rows(size_t i) const;
  [[nodiscard]] bool has_texts(size_t i) const;
  // [size + 1] offsets of a field made by a RowsDecoder or a TextDecoder (whose rows are bytes).
  // Sample i has offsets[i + 1] - offsets[i] rows. If rows are ragged, they are the rows offsets[i]
  // .. offsets[i + 1] - 1 of the array. Boxes of a view with copies, and fields that belong to
  // them, have rows for each copy and [size * copies + 1] offsets: copy c of sample i is at i *
  // copies + c. Throws Error(not_found), also for a field without rows.
  [[nodiscard]] std::span<const int64_t> row_offsets(std::string_view name) const;

  // The texts of a field made by copy_string() or another TextDecoder, one for each sample. They
  // point into the batch. Throws Error(not_found) as field() does, and Error(invalid_argument) for
  // a field without texts.
  [[nodiscard]] std::vector<std::string_view> strings(std::string_view name) const;

  // The names of the views, in order: those of LoaderOptions::views or, if there are none, the
  // image field; then the clips (arrays of FramesFields). Empty for a loader without pictures.
  [[nodiscard]] std::span<const std::string> views() const noexcept;
  // A matrix for each picture, from its pixels to those of a view: [size, 3, 3] f64, or [size,
  // copies, 3, 3] for a view with copies; see ViewMatrix. A clip has one for all of its frames. It
  // is not one of field(i). Throws Error(not_found), which lists the views.
  [[nodiscard]] BatchArray geometry(std::string_view view) const;
  // Height and width of each picture, without padding, in a view that ends with PadToLargest:
  // [size, 2] i64, or [size, copies, 2] for a view with copies. Throws Error(not_found) for other
  // views.
  [[nodiscard]] BatchArray unpadded_sizes(std::string_view view) const;
  // The arrays that are as large as the largest picture of the batch.
  [[nodiscard]] std::vector<PaddedArray> padded_arrays() const;
  // Height and width of each stored picture, or of the frames of the first clip: [size, 2] i64.
  // Throws Error(not_found) for a loader without pictures.
  [[nodiscard]] BatchArray source_sizes() const;

  // The number of the field of images(); nothing without an image field, and with views.
  [[nodiscard]] std::optional<size_t> image_field() const noexcept;
  // Pictures: [size, 3, H, W] or [size, H, W, 3] of the image options' dtype. Null for a loader
  // without an image field.
  [[nodiscard]] const void* images() const;
  void* images();
  [[nodiscard]] std::array<int64_t, 4> shape() const;  // of images(); zeros without
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Layout layout() const noexcept;
  // [size] labels; empty for a loader without a label field.
  [[nodiscard]] std::span<const int64_t> labels() const;
  // The weight of each picture, if LoaderOptions::mixing has blended it with the one before it (the
  // first with the last); otherwise 1. The loss is lambda * loss(labels) + (1 - lambda) *
  // loss(labels rolled by one). Lambda depends on the seed, the epoch and the place of the batch,
  // so a resumed epoch with the same batch size and world size gets the same values.
  [[nodiscard]] double mix_lambda() const noexcept;

  // The allocator of the batch's memory; null for an empty batch.
  [[nodiscard]] SlabAllocator* allocator() const noexcept;

 private:
  friend class SlabPool;
  explicit Batch(std::shared_ptr<BatchSlab> slab);

  size_t index_of(std::string_view name) const;
  size_t index_of_view(std::string_view name) const;
  BatchArray array(size_t i) const;
  BatchArray image_array() const;  // without data and shape where there is none

  std::shared_ptr<BatchSlab> slab_;
};

}  // namespace ffkit
