// A batch of keyframes as the network and its losses take it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/image/random.h>
#include <ffkit/trainer/device_batch.h>

#include "tasks/bevformer/loss/detection_loss.h"
#include "tasks/bevformer/network/bevformer_network.h"

namespace ffkit {

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
