// Batch: one batch of decoded samples: arrays by name, of which classification data has an image
// and a label. Move-only: holds a slab of the loader and gives it back when destroyed.
//
// A batch may be destroyed on any thread, also after its Loader. The memory stays valid and
// unchanged as long as the batch lives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/image/transform.h>

namespace ffkit {

class SlabAllocator;

// An array of a batch. Points into the batch.
struct BatchArray {
  DType dtype = DType::u8;
  std::span<const int64_t> shape;  // {N, ...}
  void* data = nullptr;            // contiguous, row-major, aligned to 4096 bytes
  size_t num_bytes() const;
};

// A sample that was replaced because its record is bad (BadSamples::skip).
struct Replacement {
  int64_t index_in_batch = 0;
  // whose place was taken, a number as in record_indices(); record_indices()[index_in_batch] took
  // it
  int64_t bad_record = 0;
  std::string
      reason;  // what is wrong with it: the message of its Error, which names file and record
};

class Batch {
 public:
  Batch();  // empty, as one that was moved from
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // The same samples in memory of their own, which no loader waits for: such a batch does not count
  // among held_batches. Throws Error(io) when there is not enough memory.
  Batch copy() const;

  // Number of samples; batch_size except for the last batch under Tail::exact.
  int64_t size() const;
  // [size] numbers of the records in the data set.
  std::span<const int64_t> record_indices() const;
  // [size] numbers of the data sets that the samples are of, Dataset::source_of(): 0 unless the
  // loader has a chain.
  std::span<const int32_t> source() const;
  int64_t epoch() const;
  // Number of the batch in this epoch on this rank, from where the epoch was started.
  int64_t step() const;
  // Samples that are not those of the sampler, in the order of the batch; empty unless
  // LoaderOptions::bad_samples is skip.
  std::span<const Replacement> replacements() const;

  // All arrays, in order: the image and the label, where LoaderOptions asks for them, then its
  // `fields`. An empty batch has none. By number: throws Error(invalid_argument) for one that is
  // not 0 .. num_fields()-1.
  size_t num_fields() const;
  std::string_view field_name(size_t i) const;
  BatchArray field(size_t i) const;
  // Throws Error(not_found) that lists the names there are.
  BatchArray field(std::string_view name) const;
  // Whether field `i` has rows, and so row_offsets(). By number as above.
  bool has_rows(size_t i) const;
  // Of a field made by a RowsDecoder or a TextDecoder, whose rows are bytes, [size + 1]: the rows
  // of sample i are offsets[i] .. offsets[i + 1] - 1 where they are ragged; where
  // they are padded, sample i has offsets[i + 1] - offsets[i] of them. Throws Error(not_found),
  // also for a field that has no rows.
  std::span<const int64_t> row_offsets(std::string_view name) const;

  // The texts of a field made by copy_string() or another TextDecoder, one a sample; they point
  // into the batch. Throws Error(not_found) as field() does, and
  // Error(invalid_argument) for a field of another kind.
  std::vector<std::string_view> strings(std::string_view name) const;

  // Images: [size, 3, H, W] or [size, H, W, 3] of the image options' dtype. Null for a loader
  // without an image field.
  const void* images() const;
  void* images();
  std::array<int64_t, 4> shape() const;  // of images(); zeros without
  DType dtype() const;
  Layout layout() const;
  // [size] labels; empty for a loader without a label field.
  std::span<const int64_t> labels() const;
  // 1, unless LoaderOptions::mixing has blended every image with the one before it (the first with
  // the last): the weight of the image itself. The loss is then lambda * loss(labels) + (1 -
  // lambda) * loss(labels rolled by one). Drawn from the seed, the epoch and the batch's place in
  // it, so that an epoch that is resumed with the same batch and world size goes on alike.
  double mix_lambda() const;

  // What its memory is of; null for an empty batch. With the address of an array, an allocator of
  // one's own finds what it has for it.
  SlabAllocator* allocator() const;

  struct Slab;  // private to the loader
  explicit Batch(std::shared_ptr<Slab> slab);

 private:
  size_t index_of(std::string_view name) const;
  BatchArray image_array() const;  // without data and shape where there is none

  std::shared_ptr<Slab> slab_;
};

}  // namespace ffkit
