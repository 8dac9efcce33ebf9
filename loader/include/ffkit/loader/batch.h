// Batch: one batch of decoded images with their labels. Move-only: holds a slab of the loader and gives it back when destroyed.
//
// A batch may be destroyed on any thread, also after its Loader. The memory stays valid and unchanged as long as the batch lives.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <ffkit/format/schema.h>
#include <ffkit/loader/transform.h>

namespace ffkit {

class Batch {
 public:
  Batch();  // empty
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Number of samples; batch_size except for the last batch under Tail::exact.
  int64_t size() const;
  // Images, contiguous: [size, 3, S, S] or [size, S, S, 3] of output().dtype, aligned to 4096 bytes.
  const void* images() const;
  void* images();
  // [size] in the data set's "label" field.
  std::span<const int64_t> labels() const;
  // [size] numbers of the records in the data set.
  std::span<const int64_t> record_indices() const;

  std::array<int64_t, 4> shape() const;  // of images()
  DType dtype() const;
  Layout layout() const;
  int64_t epoch() const;
  int64_t step()
      const;  // number of the batch in this epoch on this rank, from where the epoch was started
  int64_t num_replaced()
      const;  // samples replaced because they could not be decoded (BadSamples::skip)

  struct Slab;  // private to the loader
  explicit Batch(std::shared_ptr<Slab> slab);

 private:
  std::shared_ptr<Slab> slab_;
};

}  // namespace ffkit
