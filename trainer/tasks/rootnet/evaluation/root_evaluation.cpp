#include "tasks/rootnet/evaluation/root_evaluation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "tasks/rootnet/data/rootnet_data.h"

namespace ffkit {
namespace {

constexpr std::array kRootMetrics = {"mrpe", "mrpe_x", "mrpe_y", "mrpe_z", "ap"};
constexpr int64_t kNumRootMetrics = kRootMetrics.size();
constexpr int64_t kRootColumns = 4;
// What became of an evaluation; 0: it failed.
constexpr double kEvaluated = 1, kDiverged = 2;

}  // namespace

std::vector<MetricInfo> root_metrics() {
  return {{.name = "mrpe", .title = "MRPE", .digits = 1},
          {.name = "mrpe_x", .title = "x", .digits = 1},
          {.name = "mrpe_y", .title = "y", .digits = 1},
          {.name = "mrpe_z", .title = "z", .digits = 1},
          {.name = "ap", .title = "AP", .scale = 100, .digits = 2, .unit = "%"}};
}

RootNetEvaluation::RootNetEvaluation(RootNetNetwork& network, const Dataset& split,
                                     int64_t map_side, double ap_threshold)
    : network_(network),
      split_(split),
      map_side_(static_cast<double>(map_side)),
      ap_threshold_(ap_threshold) {}

void RootNetEvaluation::add(const DeviceBatch& batch) {
  const BatchTarget target = target_of(batch);
  const at::Tensor coordinates =
      network_.forward(network_input(batch), target.k).to(at::kCPU, at::kDouble);
  const at::Tensor numbers = at::tensor(batch.record_indices, at::kLong).to(at::kDouble);
  rows_.push_back(at::cat({numbers.unsqueeze(1), coordinates}, 1));
}

// Fills found_ from all rows, and `sums` with the metrics' values and, behind them, 1 for each that
// there is.
void RootNetEvaluation::evaluate(const at::Tensor& rows, at::Tensor& sums) {
  const auto* row = rows.const_data_ptr<double>();
  std::vector<const double*> in_order;
  for (int64_t i = 0; i < rows.size(0); ++i) in_order.push_back(row + kRootColumns * i);
  std::sort(in_order.begin(), in_order.end(),
            [](const double* a, const double* b) { return a[0] < b[0]; });
  std::vector<int64_t> records;
  for (const double* r : in_order) records.push_back(static_cast<int64_t>(r[0]));
  truth_ = pose::read_root_truth(split_.subset(records));
  for (size_t i = 0; i < in_order.size(); ++i) {
    const double* r = in_order[i];
    const pose::RootPerson& person = truth_.persons[i];
    found_.push_back(
        pose::root_of_map({r[1], r[2], r[3]}, person.box, person.camera, map_side_, map_side_));
    for (const double number : found_.back()) {
      if (std::isfinite(number)) continue;
      sums[-1] = kDiverged;
      return;
    }
  }
  const pose::RootEvaluation figures = pose::evaluate_roots(truth_, found_, ap_threshold_);
  auto* out = sums.mutable_data_ptr<double>();
  const auto put = [&](int64_t metric, double value) {
    out[metric] = value;
    out[kNumRootMetrics + metric] = 1;
  };
  if (figures.error) {
    put(0, figures.error->total);
    put(1, figures.error->x);
    put(2, figures.error->y);
    put(3, figures.error->z);
  }
  if (figures.average_precision) put(4, *figures.average_precision);
}

EvalResult RootNetEvaluation::finish(Peers& peers) {
  rows_.insert(rows_.begin(), at::zeros({0, kRootColumns}, at::kDouble));
  const at::Tensor rows = at::cat(peers.gather_rows(at::cat(rows_)));
  // Rank 0 computes for all; the last number says whether it could.
  at::Tensor sums = at::zeros({2 * kNumRootMetrics + 1}, at::kDouble);
  std::exception_ptr error;
  if (peers.rank() == 0 && rows.size(0) > 0) {
    try {
      sums[-1] = kEvaluated;
      evaluate(rows, sums);
    } catch (const std::exception&) {
      sums[-1] = 0;
      error = std::current_exception();
    }
  }
  peers.sum(sums);
  if (error) std::rethrow_exception(error);
  if (sums[-1].item<double>() == 0) {
    throw dataset_error(split_.path(), ErrorCode::invalid_argument,
                        rows.size(0) == 0
                            ? "no person was validated; give another " + option_name("val_split")
                            : "rank 0 could not compute the metric; its message says why");
  }
  EvalResult result{.count = rows.size(0), .metrics = {}};
  if (sums[-1].item<double>() == kDiverged) {
    result.diverged = "the coordinates that the network finds are not finite";
    return result;
  }
  for (int64_t i = 0; i < kNumRootMetrics; ++i) {
    if (sums[kNumRootMetrics + i].item<double>() == 0) continue;
    result.metrics.emplace_back(kRootMetrics[i], sums[i].item<double>());
  }
  if (result.metrics.empty()) {
    result.no_metrics =
        fmt::format("{} has no person whose depth is known", split_.path().string());
  }
  return result;
}

void RootNetEvaluation::write_results(const std::filesystem::path& file) {
  pose::write_root_results(file, truth_, found_);
}

}  // namespace ffkit
