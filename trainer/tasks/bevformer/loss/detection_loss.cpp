#include "tasks/bevformer/loss/detection_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <span>

#include <ffkit/base/error.h>

#include "tasks/bevformer/loss/assignment.h"
#include "tasks/bevformer/loss/boxes.h"

namespace ffkit {
namespace {

constexpr double kEps = 1e-12;
constexpr int64_t kMatchedNumbers = 8;  // of a coded box: not its velocity

// Objects on the device of the predictions, with coded boxes.
struct Targets {
  std::vector<at::Tensor> coded, labels;  // of each sample
};

Targets targets_of(const std::vector<Objects>& objects, const at::Tensor& coded) {
  Targets out;
  for (const Objects& sample : objects) {
    out.coded.push_back(code_boxes(sample.boxes.to(coded.options())));
    out.labels.push_back(sample.labels.to(coded.device(), at::kLong));
  }
  return out;
}

// [queries, objects]
at::Tensor matching_cost(const at::Tensor& logits, const at::Tensor& coded,
                         const at::Tensor& wanted, const at::Tensor& labels,
                         const DetectionLossOptions& o) {
  const at::Tensor p = logits.sigmoid();
  const at::Tensor no = -(1 - p + kEps).log() * (1 - o.focal_alpha) * p.pow(o.focal_gamma);
  const at::Tensor yes = -(p + kEps).log() * o.focal_alpha * (1 - p).pow(o.focal_gamma);
  const at::Tensor by_class = (yes - no).index_select(1, labels);
  // An object without a finite box is matched by its class alone.
  const at::Tensor has_box = wanted.isfinite().all(1);
  const at::Tensor finite = wanted.masked_fill(has_box.logical_not().unsqueeze(1), 0);
  const at::Tensor by_box = at::cdist(coded.narrow(1, 0, kMatchedNumbers),
                                      finite.narrow(1, 0, kMatchedNumbers), /*p=*/1) *
                            has_box;
  return by_class * o.class_cost + by_box * o.box_cost;
}

Matching match_targets(const at::Tensor& logits, const at::Tensor& coded, const Targets& targets,
                       const DetectionLossOptions& options) {
  const at::NoGradGuard no_grad;
  Matching out;
  for (size_t b = 0; b < targets.coded.size(); ++b) {
    const auto sample = static_cast<int64_t>(b);
    const int64_t num_objects = targets.labels[b].size(0);
    if (num_objects == 0) {
      out.queries.emplace_back();
      continue;
    }
    const at::Tensor cost =
        matching_cost(logits[sample], coded[sample], targets.coded[b], targets.labels[b], options)
            .t()
            .to(at::kCPU, at::kDouble)
            .contiguous();
    if (!cost.isfinite().all().item<bool>()) {
      throw Error(ErrorCode::invalid_argument,
                  "the detector's predictions are not finite; a lower learning rate or the "
                  "clipping of gradients may help");
    }
    const std::span<const double> numbers(cost.const_data_ptr<double>(),
                                          static_cast<size_t>(cost.numel()));
    const int64_t num_queries = cost.size(1);
    out.queries.push_back(least_cost_assignment(numbers, num_objects, num_queries));
    for (int64_t i = 0; i < num_objects; ++i) {
      out.cost += numbers[i * num_queries + out.queries[b][i]];
    }
    out.num_pairs += num_objects;
  }
  return out;
}

// Lin et al., "Focal Loss for Dense Object Detection", 2017, on logits; the sum over all queries
// and classes.
at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& wanted,
                      const DetectionLossOptions& o) {
  const at::Tensor p = logits.sigmoid();
  const at::Tensor miss = (1 - p) * wanted + p * (1 - wanted);
  const at::Tensor weight =
      (o.focal_alpha * wanted + (1 - o.focal_alpha) * (1 - wanted)) * miss.pow(o.focal_gamma);
  return (at::binary_cross_entropy_with_logits(logits, wanted, {}, {}, at::Reduction::None) *
          weight)
      .sum();
}

}  // namespace

Matching match_objects(const at::Tensor& logits, const at::Tensor& coded,
                       const std::vector<Objects>& objects, const DetectionLossOptions& options) {
  return match_targets(logits, coded, targets_of(objects, coded), options);
}

std::vector<LayerLoss> detection_losses(const at::Tensor& logits, const at::Tensor& coded,
                                        const std::vector<Objects>& objects,
                                        const DetectionLossOptions& options,
                                        const MeanOverProcesses& mean) {
  const Targets targets = targets_of(objects, coded);
  const at::Tensor wanted_boxes = at::cat(targets.coded);
  const at::Tensor labels = at::cat(targets.labels);
  const int64_t num_queries = logits.size(2);
  const at::Tensor has_box = wanted_boxes.isfinite().all(1);
  const at::Tensor code_weights = at::tensor(options.code_weights).to(coded.options());
  // The same in every layer: each object has its pair.
  const double factor = std::max(1.0, mean(static_cast<double>(labels.size(0))));
  std::vector<LayerLoss> out;
  for (int64_t layer = 0; layer < logits.size(0); ++layer) {
    LayerLoss loss;
    loss.matching = match_targets(logits[layer], coded[layer], targets, options);
    std::vector<int64_t> rows;  // of all samples' queries, the one of each object
    for (size_t b = 0; b < loss.matching.queries.size(); ++b) {
      for (const int64_t query : loss.matching.queries[b]) {
        rows.push_back(static_cast<int64_t>(b) * num_queries + query);
      }
    }
    const at::Tensor pairs = at::tensor(rows, at::kLong).to(logits.device());
    const at::Tensor flat = logits[layer].flatten(0, 1);
    const at::Tensor wanted = at::zeros_like(flat)
                                  .flatten()
                                  .index_fill(0, pairs * flat.size(1) + labels, 1)
                                  .view_as(flat);
    loss.classes =
        (focal_loss(flat, wanted, options) * (options.class_weight / factor)).nan_to_num();
    const at::Tensor distance =
        (coded[layer].flatten(0, 1).index_select(0, pairs) - wanted_boxes).abs() * code_weights;
    loss.boxes = (distance.index_select(0, has_box.nonzero().squeeze(1)).sum() *
                  (options.box_weight / factor))
                     .nan_to_num();
    out.push_back(std::move(loss));
  }
  return out;
}

}  // namespace ffkit
