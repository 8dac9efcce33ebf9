// Boxes as a network predicts them, and as objects have them.
//
// An object's box: x, y, z of its lower side, width, length, height, yaw, velocity x and y: 9
// numbers, in the lidar's frame, metres and radians. A coded box: x, y, log width, log length, z of
// its middle, log height, sin and cos of the yaw, velocity x and y: 10 numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace ffkit {

// [N, 9] -> [N, 10]
at::Tensor code_boxes(const at::Tensor& boxes);

struct BoxDecoding {
  int64_t max_boxes = 300;
  // Boxes whose middle is outside are left out: x, y, z from and to.
  std::array<double, 6> range = {-61.2, -61.2, -10, 61.2, 61.2, 10};
};

// The detections in one sample, the most certain one first. On the device of the logits.
struct DetectedBoxes {
  at::Tensor boxes;   // [N, 9] f32, as objects have them
  at::Tensor scores;  // [N] 0 .. 1
  at::Tensor labels;  // [N] i64
};

// The boxes of the last decoder layer's logits [queries, classes] and coded boxes [queries, 10]. A
// query may give boxes for several classes. There is no threshold and no suppression of neighbours.
DetectedBoxes decode_boxes(const at::Tensor& logits, const at::Tensor& coded,
                           const BoxDecoding& decoding);

}  // namespace ffkit
