// The loss of a detector that predicts a set (Carion et al., "End-to-End Object Detection with
// Transformers", 2020): each object is given to the query that fits it best, the other queries are
// to see nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace ffkit {

// The objects of one sample, on the CPU or the device of the predictions.
struct Objects {
  at::Tensor boxes;   // [N, 9], as in boxes.h
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
  int64_t num_pairs = 0;
};

// logits [B, queries, classes], coded boxes [B, queries, 10]. Costs are those of focal loss and of
// the first 8 numbers of a box, of the class alone where an object's coded box is not finite; ties
// as in least_cost_assignment(). Throws Error(invalid_argument) when a prediction is not finite, or
// a sample has more objects than queries.
Matching match_objects(const at::Tensor& logits, const at::Tensor& coded,
                       const std::vector<Objects>& objects, const DetectionLossOptions& options);

// The mean of a number over all processes.
using MeanOverProcesses = std::function<double(double)>;

struct LayerLoss {
  at::Tensor classes;  // [] focal loss over all queries and classes
  at::Tensor boxes;    // [] L1 over the numbers of the boxes that have an object
  Matching matching;
};

// The losses of each decoder layer, weighted: logits [layers, B, queries, classes], boxes [layers,
// B, queries, 10]. Both are divided by the number of pairs, at least 1, which is averaged over the
// processes by `mean`. Objects whose coded box is not finite have no loss of their box.
std::vector<LayerLoss> detection_losses(const at::Tensor& logits, const at::Tensor& coded,
                                        const std::vector<Objects>& objects,
                                        const DetectionLossOptions& options,
                                        const MeanOverProcesses& mean);

}  // namespace ffkit
