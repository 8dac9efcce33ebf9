// WindowSource: training batches of keyframes, each with some of those before it.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>

#include <ffkit/nuscenes/windows.h>
#include <ffkit/trainer/batch_source.h>

namespace ffkit {

// Batches of B windows of L frames: the fields are those of the loader, [B * L, ...], with `motion`
// as differences to the frame before and `has_previous` [B * L] bool beside them, both on the CPU.
// DeviceBatch::size is B, and record_indices are the keyframes [B] at the windows' ends, as they
// are numbered in their split. Positions of its state count windows, and its fingerprint is that of
// the keyframes, which are the same in all epochs.
class WindowSource final : public BatchSource {
 public:
  // `options`: batch_size counts windows, and order and tail are those of training. Throws as
  // Loader's constructor.
  WindowSource(nuscenes::Windows windows, LoaderOptions options, std::string fingerprint,
               int64_t limit_batches, c10::Device device);

  int64_t num_batches() const override { return source_.num_batches(); }
  void start_epoch(int64_t epoch) override { source_.start_epoch(epoch); }
  void restore(const LoaderState& state) override;
  LoaderState state() const override;
  std::optional<DeviceBatch> next() override;
  double wait_seconds() const override { return source_.wait_seconds(); }
  std::string verdict() const override { return source_.verdict(); }

 private:
  LoaderOptions window_options(LoaderOptions options) const;

  const nuscenes::Windows windows_;
  const std::string fingerprint_;
  const uint64_t seed_;
  LoaderSource source_;
};

}  // namespace ffkit
