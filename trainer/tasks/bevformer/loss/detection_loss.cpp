#include "tasks/bevformer/loss/detection_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <ffkit/base/error.h>

#include "base/make_error.h"

namespace ffkit {

at::Tensor code_boxes(const at::Tensor& boxes) {
  const std::vector<at::Tensor> b = boxes.unbind(-1);
  return at::stack({b[0], b[1], b[3].log(), b[4].log(), b[2] + b[5] * 0.5, b[5].log(), b[6].sin(),
                    b[6].cos(), b[7], b[8]},
                   -1);
}

DetectedBoxes decode_boxes(const at::Tensor& logits, const at::Tensor& coded,
                           const BoxDecoding& decoding) {
  const int64_t classes = logits.size(1);
  const at::Tensor all = logits.sigmoid().flatten();
  const auto [scores, index] = all.topk(std::min(decoding.max_boxes, all.size(0)));
  const at::Tensor labels = index.remainder(classes);
  const at::Tensor query = index.div(classes, "floor");
  const std::vector<at::Tensor> c = coded.index_select(0, query).unbind(-1);
  const at::Tensor height = c[5].exp();
  at::Tensor is_inside = at::ones_like(labels, at::kBool);
  const std::array middle = {c[0], c[1], c[4]};
  for (size_t i = 0; i < 3; ++i) {
    is_inside = is_inside.logical_and(middle[i] >= decoding.range[i])
                    .logical_and(middle[i] <= decoding.range[i + 3]);
  }
  const at::Tensor kept = is_inside.nonzero().squeeze(1);
  const at::Tensor boxes = at::stack({c[0], c[1], c[4] - height * 0.5, c[2].exp(), c[3].exp(),
                                      height, at::atan2(c[6], c[7]), c[8], c[9]},
                                     -1);
  return {.boxes = boxes.index_select(0, kept),
          .scores = scores.index_select(0, kept),
          .labels = labels.index_select(0, kept)};
}

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Assignment {
 public:
  Assignment(std::span<const double> cost, int64_t rows, int64_t columns)
      : cost_(cost),
        columns_(columns),
        row_price_(rows),
        column_price_(columns_),
        column_of_(rows, -1),
        row_of_(columns_, -1),
        path_(columns_) {}

  // Gives `row` a column. Rows that had one may get another.
  void add(size_t row) {
    std::vector<double> distance(columns_, kInfinite);
    std::vector<char> is_done(columns_);
    std::vector<size_t> rows_seen;
    double lowest = 0;
    size_t at = row;
    size_t end = columns_;
    while (end == columns_) {
      rows_seen.push_back(at);
      size_t nearest = columns_;
      double nearest_distance = kInfinite;
      for (size_t j = 0; j < columns_; ++j) {
        if (is_done[j] != 0) continue;
        const double there = lowest + cost_[at * columns_ + j] - row_price_[at] - column_price_[j];
        if (there < distance[j]) {
          distance[j] = there;
          path_[j] = at;
        }
        // Of equally near ones, a free column ends the search.
        if (distance[j] < nearest_distance ||
            (distance[j] == nearest_distance && row_of_[j] < 0 && row_of_[nearest] >= 0)) {
          nearest = j;
          nearest_distance = distance[j];
        }
      }
      lowest = nearest_distance;
      is_done[nearest] = 1;
      if (row_of_[nearest] < 0) {
        end = nearest;
      } else {
        at = static_cast<size_t>(row_of_[nearest]);
      }
    }
    update_prices(row, rows_seen, distance, is_done, lowest);
    // Backwards along the path, each row gives its column to the next one.
    for (size_t j = end;;) {
      const size_t owner = path_[j];
      row_of_[j] = static_cast<int64_t>(owner);
      const int64_t former = column_of_[owner];
      column_of_[owner] = static_cast<int64_t>(j);
      if (owner == row) return;
      j = static_cast<size_t>(former);
    }
  }

  std::vector<int64_t> columns() && { return std::move(column_of_); }

 private:
  void update_prices(size_t row, const std::vector<size_t>& rows_seen,
                     const std::vector<double>& distance, const std::vector<char>& is_done,
                     double lowest) {
    for (const size_t i : rows_seen) {
      row_price_[i] += i == row ? lowest : lowest - distance[column_of_[i]];
    }
    for (size_t j = 0; j < columns_; ++j) {
      if (is_done[j] != 0) column_price_[j] -= lowest - distance[j];
    }
  }

  std::span<const double> cost_;
  size_t columns_;
  std::vector<double> row_price_, column_price_;
  std::vector<int64_t> column_of_, row_of_;  // -1: none
  std::vector<size_t> path_;                 // the row by which a column was reached
};

}  // namespace

std::vector<int64_t> least_cost_assignment(std::span<const double> cost, int64_t rows,
                                           int64_t columns) {
  if (rows > columns) {
    throw error_of(ErrorCode::invalid_argument, "an assignment of {} rows has only {} columns",
                   rows, columns);
  }
  if (!std::all_of(cost.begin(), cost.end(), [](double c) { return std::isfinite(c); })) {
    throw Error(ErrorCode::invalid_argument, "a cost of the assignment is not finite");
  }
  Assignment assignment(cost, rows, columns);
  for (int64_t i = 0; i < rows; ++i) assignment.add(static_cast<size_t>(i));
  return std::move(assignment).columns();
}

namespace {

constexpr double kEps = 1e-12;
constexpr int64_t kMatchedNumbers = 8;  // of a coded box: not its velocity

// Objects on the device of the predictions, with coded boxes.
struct Targets {
  std::vector<at::Tensor> coded, labels;  // of each sample
};

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

// Costs are those of focal loss and of the first 8 numbers of a box, of the class alone where an
// object's coded box is not finite; ties as in least_cost_assignment().
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
                  "the detector's predictions are not finite; try a lower learning rate, or "
                  "clip the gradients");
    }
    const std::span<const double> numbers(cost.const_data_ptr<double>(),
                                          static_cast<size_t>(cost.numel()));
    const int64_t num_queries = cost.size(1);
    out.queries.push_back(least_cost_assignment(numbers, num_objects, num_queries));
    for (int64_t i = 0; i < num_objects; ++i) {
      out.cost += numbers[i * num_queries + out.queries[b][i]];
    }
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

std::vector<LayerLoss> detection_losses(const at::Tensor& logits, const at::Tensor& coded,
                                        const std::vector<Objects>& objects,
                                        const DetectionLossOptions& options, double divisor) {
  Targets targets;
  for (const Objects& sample : objects) {
    targets.coded.push_back(code_boxes(sample.boxes.to(coded.options())));
    targets.labels.push_back(sample.labels.to(coded.device(), at::kLong));
  }
  const at::Tensor wanted_boxes = at::cat(targets.coded);
  const at::Tensor labels = at::cat(targets.labels);
  const int64_t num_queries = logits.size(2);
  const at::Tensor has_box = wanted_boxes.isfinite().all(1);
  const at::Tensor code_weights = at::tensor(options.code_weights).to(coded.options());
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
        (focal_loss(flat, wanted, options) * (options.class_weight / divisor)).nan_to_num();
    const at::Tensor distance =
        (coded[layer].flatten(0, 1).index_select(0, pairs) - wanted_boxes).abs() * code_weights;
    loss.boxes = (distance.index_select(0, has_box.nonzero().squeeze(1)).sum() *
                  (options.box_weight / divisor))
                     .nan_to_num();
    out.push_back(std::move(loss));
  }
  return out;
}

}  // namespace ffkit
