// The cross entropy of the next token, without ever holding the logits of all positions: these, a
// number for each position and each token of the vocabulary, are the largest tensor of a GPT-2 by
// far.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/peers.h>
#include <ffkit/trainer/task.h>

namespace ffkit {

// Targets that do not count.
inline constexpr int64_t kNoTarget = -100;

// The sum of -log softmax(hidden weight^T)[target] over all positions whose target is not
// kNoTarget, [] f32 (f64 of f64), with gradients of `hidden` and `weight`; in the precision of
// autocast.
//   hidden   [N, E]
//   weight   [V, E] the rows first_row .. first_row + V - 1 of the whole vocabulary's, which
//            `peers` share
//   targets  [N] i64, ids of the whole vocabulary
// Among several peers, gradients are of a process's own rows: that of `hidden` is to be added up
// over them (with_summed_gradient).
at::Tensor next_token_loss(const at::Tensor& hidden, const at::Tensor& weight,
                           const at::Tensor& targets, int64_t first_row, Peers& peers);

// "loss", the mean of -log of the probability of each next token, and "perplexity", e to its power.
std::vector<MetricInfo> token_metrics();

// TokenEvaluation: how well a network knows the next token of a split.
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
