// TokenEvaluation: how well a network knows the next token of a split.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/task.h>

namespace ffkit {

// "loss", the mean of -log of the probability of each next token, and "perplexity", e to its power.
std::vector<MetricInfo> token_metrics();

class TokenEvaluation final : public Evaluation {
 public:
  // `sums`: of a batch, the sum of that over its targets and their number, [2] f64 on the CPU.
  explicit TokenEvaluation(std::function<at::Tensor(const DeviceBatch& batch)> sums);

  void add(const DeviceBatch& batch) override;
  EvalResult finish(Peers& peers) override;

 private:
  std::function<at::Tensor(const DeviceBatch&)> sums_of_;
  at::Tensor sums_;
};

}  // namespace ffkit
