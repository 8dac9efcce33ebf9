// A batch of keyframes as the network and its losses take it.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/trainer/device_batch.h>

#include "tasks/bevformer/loss/detection_loss.h"
#include "tasks/bevformer/network/bevformer_network.h"

namespace ffkit {

// The first, second, ... frames of all windows of a batch, the oldest first. The batch has B
// windows of `length` frames. `is_bgr`: the network takes blue before red.
std::vector<BevFrame> frames_of(const DeviceBatch& batch, int64_t length, bool is_bgr);

// The objects in the last frame of each window, on the device of the batch: boxes as loss/boxes.h
// has them.
std::vector<Objects> objects_of(const DeviceBatch& batch, int64_t length);

// Boxes [N, 9] as nuScenes' records have them (centre x, y, z, size l, w, h, yaw, velocity x, y) to
// those of loss/boxes.h (z of the lower side, size w, l, h, the yaw of the published code: -yaw -
// pi/2), and back.
at::Tensor to_published_boxes(const at::Tensor& boxes);
at::Tensor from_published_boxes(const at::Tensor& boxes);

// Pictures and matrices of six cameras around, for measurements without data: B windows of `length`
// frames with `num_objects` objects each.
DeviceBatch noise_windows(int64_t batch_size, int64_t length, int64_t height, int64_t width,
                          int64_t num_objects, uint64_t seed);

}  // namespace ffkit
