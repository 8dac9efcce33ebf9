// DevicePrefetcher: a loader's batches as tensors on the device that trains. A separate stream
// copies them one batch ahead:
//
//   copy stream      | copy k+1 |          | copy k+2 |
//   compute stream   |  step k       |  step k+1       |
//
// Copies overlap with computing only if the slabs are pinned (pinned_slab_allocator()). On the CPU
// nothing is copied. Belongs to the thread whose current stream computes.
// May change in any version (docs/stability.md).
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <ffkit/loader/loader.h>
#include <ffkit/loader/slab_allocator.h>
#include <ffkit/trainer/device_batch.h>

namespace ffkit {

class DevicePrefetcher {
 public:
  // `loader` must outlive the prefetcher; only the prefetcher may start and restore it. Throws
  // Error(invalid_argument) if its held_batches are below kHeldBatches.
  DevicePrefetcher(Loader& loader, c10::Device device);
  ~DevicePrefetcher();
  DevicePrefetcher(const DevicePrefetcher&) = delete;
  DevicePrefetcher& operator=(const DevicePrefetcher&) = delete;

  // Two are copied, one is in use.
  static constexpr int kHeldBatches = 3;

  // As the loader's. A batch that was copied ahead is dropped.
  void set_epoch(int64_t epoch);
  void restore(const LoaderState& state);
  // The next batch, or nothing at the end of the epoch. Later work on the current stream waits for
  // its copy. If the following batch is ready, its copy begins; next() never waits for that one.
  std::optional<DeviceBatch> next();
  // As Loader::wait_for(), of the batch that next() gives.
  bool wait_for(std::chrono::nanoseconds limit);
  // The state after the batches that next() has returned.
  LoaderState state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Slabs in page-locked ("pinned") memory of libtorch's allocator, from which a GPU copies by
// itself.

// For MemoryOptions::allocator. It is a TensorSlabAllocator: tensors of torch.h may be copied to
// the GPU asynchronously, and dropped during the copy. libtorch rounds sizes up to powers of two,
// and keeps the memory when the loader ends. Throws Error(unsupported) if libtorch sees no CUDA
// device.
std::shared_ptr<SlabAllocator> pinned_slab_allocator();

}  // namespace ffkit
