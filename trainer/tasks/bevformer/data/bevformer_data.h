// What BEVFormer wants from nuScenes' keyframes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/image/random.h>
#include <ffkit/launch/launch.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/windows.h>
#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/bevformer.h>
#include <ffkit/trainer/device_batch.h>

#include "tasks/bevformer/loss/detection_loss.h"
#include "tasks/bevformer/network/bevformer_network.h"

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
  void set_epoch(int64_t epoch) override { source_.set_epoch(epoch); }
  void restore(const LoaderState& state) override;
  LoaderState state() const override;
  std::optional<DeviceBatch> next() override;
  bool wait_for_batch() override { return source_.wait_for_batch(); }
  double wait_seconds() const override { return source_.wait_seconds(); }
  std::string verdict() const override { return source_.verdict(); }

 private:
  LoaderOptions window_options(LoaderOptions options) const;

  const nuscenes::Windows windows_;
  const std::string fingerprint_;
  const uint64_t seed_;
  LoaderSource source_;
};

// A batch of keyframes as the network and its losses take it.

// The first, second, ... frames of all windows of a batch, the oldest first. The batch has B
// windows of `length` frames. `is_bgr`: the network takes blue before red.
std::vector<BevFrame> frames_of(const DeviceBatch& batch, int64_t length, bool is_bgr);

// The objects in the last frame of each window, on the device of the batch: boxes as code_boxes()
// takes them.
std::vector<Objects> objects_of(const DeviceBatch& batch, int64_t length);

// Boxes [N, 9] as nuScenes' records have them (centre x, y, z, size l, w, h, yaw, velocity x, y) to
// those of code_boxes() (z of the lower side, size w, l, h, the yaw of the published code: -yaw -
// pi/2), and back.
at::Tensor to_published_boxes(const at::Tensor& boxes);
at::Tensor from_published_boxes(const at::Tensor& boxes);

// Pictures and matrices of six cameras around, for measurements without data: B windows of `length`
// frames with `num_objects` objects each.
DeviceBatch noise_windows(int64_t batch_size, int64_t length, int64_t height, int64_t width,
                          int64_t num_objects, uint64_t seed);

// GridMask (Chen et al., "GridMask Data Augmentation", 2020) as BEVFormer trains with it: pictures
// keep only what lies on a grid of broad lines.

// [height, width] f32: 1 where pictures stay, 0 where they go. Lines repeat after d pixels, 2 <= d
// < height, across and down, each half as broad; d and where they begin are drawn. Undefined, with
// 1 - `probability`: pictures stay as they are. A picture of less than 3 rows stays as it is. As
// GridMask(True, True, rotate=1, offset=False, ratio=0.5, mode=1) of
// projects/mmdet3d_plugin/models/utils/grid_mask.py, with other random numbers.
at::Tensor draw_grid_mask(int64_t height, int64_t width, double probability, CounterRandom& random);

// images [B, cameras, 3, height, width] with a mask on each sample. What a sample draws depends on
// the seed, the epoch and the number of its keyframe, `keyframes`[B], alone.
at::Tensor cover_with_grids(const at::Tensor& images, double probability, uint64_t seed,
                            int64_t epoch, std::span<const int64_t> keyframes);

}  // namespace ffkit
