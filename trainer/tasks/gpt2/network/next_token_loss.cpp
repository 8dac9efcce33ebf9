#include "tasks/gpt2/network/next_token_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ffkit {
namespace {

namespace autograd = torch::autograd;

// Logits held at a time: enough for the products to be as fast as one over all positions.
constexpr int64_t kLogitsOnCpu = int64_t{1} << 25;
constexpr int64_t kLogitsOnGpu = int64_t{1} << 28;

struct NextTokenInput {
  at::Tensor hidden, weight;  // in the precision of the products
  at::Tensor targets;
  int64_t first_row;
  Peers* peers;
};

at::ScalarType sum_type(const at::Tensor& weight) {
  return weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// The loss of a part of the positions; with `gradients`, `logits` becomes softmax - one hot.
at::Tensor part_loss(const NextTokenInput& in, int64_t begin, int64_t count, at::Tensor& logits,
                     bool gradients) {
  logits = at::mm(in.hidden.narrow(0, begin, count), in.weight.t()).to(sum_type(in.weight));
  const at::Tensor target = in.targets.narrow(0, begin, count);
  const int64_t rows = in.weight.size(0);
  const at::Tensor counts = target.ne(kNoTarget);
  const at::Tensor local = target - in.first_row;
  const at::Tensor is_own = counts & local.ge(0) & local.lt(rows);
  const at::Tensor column = at::where(is_own, local, 0).unsqueeze(1);
  at::Tensor largest = std::get<0>(logits.max(1));
  const at::Tensor own_logit = logits.gather(1, column).squeeze(1);
  logits.sub_(largest.unsqueeze(1)).exp_();
  at::Tensor sum = logits.sum(1);
  at::Tensor target_logit = own_logit * is_own;
  at::Tensor scale;  // of own exponentials, to probabilities
  if (in.peers->world_size() > 1) {
    // What each process has, in a row of its own: largest, sum, logit of the target.
    at::Tensor all = at::zeros({in.peers->world_size(), 3, count}, logits.options());
    const at::Tensor own = all[in.peers->rank()];
    own[0].copy_(largest);
    own[1].copy_(sum);
    own[2].copy_(target_logit);
    in.peers->sum(all);
    const at::Tensor shared = std::get<0>(all.select(1, 0).max(0));
    sum = (all.select(1, 1) * at::exp(all.select(1, 0) - shared)).sum(0);
    target_logit = all.select(1, 2).sum(0);
    scale = at::exp(largest - shared) / sum;
    largest = shared;
  } else {
    scale = sum.reciprocal();
  }
  if (gradients) {
    logits.mul_((scale * counts).unsqueeze(1));
    logits.scatter_add_(1, column, is_own.to(logits.scalar_type()).neg().unsqueeze(1));
  }
  return ((at::log(sum) + largest - target_logit) * counts).sum();
}

struct NextTokenLoss : autograd::Function<NextTokenLoss> {
  static at::Tensor forward(autograd::AutogradContext* context, const at::Tensor& hidden,
                            const at::Tensor& weight, const at::Tensor& targets, int64_t first_row,
                            Peers* peers, bool gradients) {
    const c10::DeviceType device = hidden.device().type();
    const at::ScalarType type = at::autocast::is_autocast_enabled(device)
                                    ? at::autocast::get_autocast_dtype(device)
                                    : weight.scalar_type();
    const NextTokenInput in{hidden.to(type), weight.to(type), targets, first_row, peers};
    const int64_t most = hidden.is_cpu() ? kLogitsOnCpu : kLogitsOnGpu;
    const int64_t step = std::max<int64_t>(1, most / weight.size(0));
    at::Tensor loss = at::zeros({}, hidden.options().dtype(sum_type(weight)));
    at::Tensor hidden_gradient, weight_gradient;
    if (gradients) {
      hidden_gradient = at::zeros_like(hidden);
      weight_gradient = at::zeros_like(weight);
    }
    at::Tensor logits;
    for (int64_t begin = 0; begin < hidden.size(0); begin += step) {
      const int64_t count = std::min(step, hidden.size(0) - begin);
      loss += part_loss(in, begin, count, logits, gradients);
      if (!gradients) continue;
      const at::Tensor error = logits.to(type);
      hidden_gradient.narrow(0, begin, count).copy_(at::mm(error, in.weight));
      const at::Tensor part = in.hidden.narrow(0, begin, count);
      if (type == weight.scalar_type()) {
        weight_gradient.addmm_(error.t(), part);
      } else {
        weight_gradient += at::mm(error.t(), part);
      }
    }
    if (gradients) context->save_for_backward({hidden_gradient, weight_gradient});
    return loss;
  }

  static autograd::variable_list backward(autograd::AutogradContext* context,
                                          const autograd::variable_list& gradients) {
    const autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor& factor = gradients[0];
    return {saved[0] * factor, saved[1] * factor, at::Tensor(),
            at::Tensor(),      at::Tensor(),      at::Tensor()};
  }
};

}  // namespace

at::Tensor next_token_loss(const at::Tensor& hidden, const at::Tensor& weight,
                           const at::Tensor& targets, int64_t first_row, Peers& peers) {
  const bool gradients =
      at::GradMode::is_enabled() && (hidden.requires_grad() || weight.requires_grad());
  return NextTokenLoss::apply(hidden, weight, targets, first_row, &peers, gradients);
}

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
  return {.count = static_cast<int64_t>(count),
          .metrics = {{"loss", loss}, {"perplexity", std::exp(loss)}}};
}

}  // namespace ffkit
