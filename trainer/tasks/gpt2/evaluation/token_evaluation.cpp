#include "tasks/gpt2/evaluation/token_evaluation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <utility>

namespace ffkit {

std::vector<MetricInfo> token_metrics() {
  return {{.name = "loss"}, {.name = "perplexity", .digits = 2}};
}

TokenEvaluation::TokenEvaluation(std::function<at::Tensor(const DeviceBatch& batch)> sums)
    : sums_of_(std::move(sums)), sums_(at::zeros({2}, at::kDouble)) {}

void TokenEvaluation::add(const DeviceBatch& batch) {
  sums_ += sums_of_(batch);
}

EvalResult TokenEvaluation::finish(Peers& peers) {
  peers.sum(sums_);
  const double count = sums_[1].item<double>();
  const double loss = sums_[0].item<double>() / count;
  return {.count = int64_t(count), .metrics = {{"loss", loss}, {"perplexity", std::exp(loss)}}};
}

}  // namespace ffkit
