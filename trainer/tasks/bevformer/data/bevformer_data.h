// What BEVFormer wants from nuScenes' keyframes.
#pragma once

#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <ffkit/launch/launch.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/windows.h>
#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/bevformer.h>

namespace ffkit {

// The pictures of an arch, as it was published.
struct BevFormerPictures {
  double scale = 0.5;
  std::array<float, 3> mean = {};  // of red, green and blue, as ImageOutput has them
  std::array<float, 3> std = {};
  bool is_bgr = false;  // channels in the order of Caffe's networks
};
BevFormerPictures bevformer_pictures(const BevFormerOptions& options);

// Keyframes of a training sample.
int64_t queue_length(const BevFormerOptions& options);

// Why records of `schema` are none to train BEVFormer on; empty: they are.
std::string bevformer_misfit(const Schema& schema);

// The split `name`, or that of v1.0-mini where there is no other: "mini_train" for "train". Throws
// Error(not_found) when there is none, Error(invalid_argument) when it is not for BEVFormer.
nuscenes::Split open_keyframes(const TrainOptions& options, const std::string& name);

// The size that pictures of width x height have in the network: scaled, then filled up to multiples
// of 32.
ImageSize scaled_picture_size(int64_t width, int64_t height, const BevFormerOptions& options);
// The same for the pictures of `keyframes`, which all have the size of the first. Throws
// Error(corrupt) if it cannot be read.
ImageSize network_picture_size(const Dataset& keyframes, const BevFormerOptions& options);

// The objects that are trained on: of the ten classes, with a point of lidar or radar inside,
// within the BEV.
nuscenes::BoxOptions trained_objects();

// The loader's options for keyframes one by one, in order; batch_size is a batch of them. `size`:
// network_picture_size() of the split. `is_training`: with distorted pictures.
LoaderOptions keyframe_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                      c10::Device device, const nuscenes::Split& split,
                                      ImageSize size, bool is_training);

// WindowSource: training batches of keyframes, each with some of those before it.
//
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
