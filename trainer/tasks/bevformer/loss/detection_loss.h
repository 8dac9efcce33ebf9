// The loss of a detector that predicts a set (Carion et al., "End-to-End Object Detection with
// Transformers", 2020): each object is given to the query that fits it best, the other queries are
// to see nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ffkit {

// Boxes as a network predicts them, and as objects have them.
//
// An object's box: x, y, z of its lower side, width, length, height, yaw, velocity x and y: 9
// numbers, in the lidar's frame, metres and radians. A coded box: x, y, log width, log length, z of
// its middle, log height, sin and cos of the yaw, velocity x and y: 10 numbers.

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

// `cost`: rows x columns, in rows, rows <= columns. Returns the column of each row; the sum of cost
// over these is as small as it can be. Where several assignments have that sum, which of them comes
// out depends on the order of the columns alone. Shortest augmenting paths (Crouse, "On
// Implementing 2D Rectangular Assignment Algorithms", 2016), rows^2 * columns steps. Throws
// Error(invalid_argument) when a cost is not finite, or there are more rows than columns.
std::vector<int64_t> least_cost_assignment(std::span<const double> cost, int64_t rows,
                                           int64_t columns);

// The objects of one sample, on the CPU or the device of the predictions.
struct Objects {
  at::Tensor boxes;   // [N, 9], an object's boxes
  at::Tensor labels;  // [N] i64
};

struct DetectionLossOptions {
  double class_weight = 2;
  double box_weight = 0.25;
  double class_cost = 2;
  double box_cost = 0.25;
  double focal_alpha = 0.25;
  double focal_gamma = 2;
  std::vector<double> code_weights = {1, 1, 1, 1,   1,
                                      1, 1, 1, 0.2, 0.2};  // of a coded box's numbers
};

// What one decoder layer is matched with.
struct Matching {
  std::vector<std::vector<int64_t>> queries;  // of each sample, the query of each object
  double cost = 0;                            // of all pairs
};

struct LayerLoss {
  at::Tensor classes;  // [] focal loss over all queries and classes
  at::Tensor boxes;    // [] L1 over the numbers of the boxes that have an object
  Matching matching;
};

// The losses of each decoder layer, weighted: logits [layers, B, queries, classes], boxes [layers,
// B, queries, 10]. Both are divided by `divisor`: the number of pairs, for a mean over them.
// Objects whose coded box is not finite have no loss of their box. Throws Error(invalid_argument)
// when a prediction is not finite, or a sample has more objects than queries.
std::vector<LayerLoss> detection_losses(const at::Tensor& logits, const at::Tensor& coded,
                                        const std::vector<Objects>& objects,
                                        const DetectionLossOptions& options, double divisor);

}  // namespace ffkit
