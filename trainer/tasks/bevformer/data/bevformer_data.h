// What BEVFormer wants from nuScenes' keyframes.
#pragma once

#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <string>

#include <ffkit/loader/loader_options.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/trainer/bevformer.h>
#include <ffkit/trainer/launch.h>

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

}  // namespace ffkit
