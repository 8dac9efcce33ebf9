// DevicePrefetcher: a loader's batches as tensors on the device that trains, copied one batch ahead
// on a stream of their own:
//
//   copy stream      | copy k+1 |          | copy k+2 |
//   compute stream   |  step k       |  step k+1       |
//
// Copies overlap with computing only from pinned slabs (pinned_slab_allocator()). On the CPU
// nothing is copied. Belongs to one thread, the one whose current stream computes.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>

#include <ffkit/loader/loader.h>
#include <ffkit/trainer/device_batch.h>

namespace ffkit {

class DevicePrefetcher {
 public:
  // `loader` must outlive the prefetcher; it is started and restored through it alone, between
  // epochs. Throws Error(invalid_argument) unless its held_batches are at least kHeldBatches.
  DevicePrefetcher(Loader& loader, c10::Device device);
  ~DevicePrefetcher();
  DevicePrefetcher(const DevicePrefetcher&) = delete;
  DevicePrefetcher& operator=(const DevicePrefetcher&) = delete;

  // Two being copied and one in use.
  static constexpr int kHeldBatches = 3;

  // As the loader's; a batch that was copied ahead is dropped.
  void start_epoch(int64_t epoch);
  void restore(const LoaderState& state);
  // The next batch; work that is queued on the current stream from now on waits for its copy.
  // Nothing at the end of the epoch. Begins to copy the one after it if the loader has it ready: it
  // never waits for a batch that is not asked for.
  std::optional<DeviceBatch> next();
  // Behind the batches that next() has returned.
  LoaderState state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
