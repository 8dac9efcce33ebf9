#include "distributed/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm_backward_elemt.h>
#include <ATen/ops/batch_norm_backward_reduce.h>
#include <ATen/ops/batch_norm_elemt.h>
#include <ATen/ops/batch_norm_gather_stats_with_counts.h>
#include <ATen/ops/batch_norm_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/var_mean.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// [C] as [1,C,1,1]
at::Tensor by_channel(const at::Tensor& t) {
  return t.view({1, -1, 1, 1});
}

struct Synchronised : torch::autograd::Function<Synchronised> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& weight, const at::Tensor& bias, double eps,
                               int64_t communicator_address) {
    auto& communicator = *reinterpret_cast<Communicator*>(communicator_address);
    const int64_t channels = x.size(1);
    const at::Tensor wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
    const auto [own_var, own_mean] =
        at::var_mean(wide, at::IntArrayRef{0, 2, 3}, /*unbiased=*/false);
    const at::Tensor own_count = at::full({1}, x.numel() / channels, own_mean.options());
    const at::Tensor all =
        at::stack(communicator.all_gather(at::cat({own_mean, own_var, own_count}).contiguous()));
    // The variance of groups put together (Chan et al., "Updating Formulae and a Pairwise Algorithm
    // for Computing Sample Variances", 1979).
    const at::Tensor means = all.narrow(1, 0, channels);
    const at::Tensor vars = all.narrow(1, channels, channels);
    const at::Tensor counts = all.narrow(1, 2 * channels, 1);
    const at::Tensor count = counts.sum();
    const at::Tensor mean = (means * counts).sum(0) / count;
    const at::Tensor var = ((vars + (means - mean).square()) * counts).sum(0) / count;
    const at::Tensor y = std::get<0>(
        at::native_batch_norm(x, weight, bias, mean, var, /*training=*/false, /*momentum=*/0, eps));
    context->save_for_backward({x, weight, mean, (var + eps).rsqrt(), count});
    context->saved_data["communicator"] = communicator_address;
    context->saved_data["eps"] = eps;
    const at::Tensor unbiased = var * (count / (count - 1).clamp_min(1));
    context->mark_non_differentiable({mean, unbiased});
    return {y, mean, unbiased};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& communicator =
        *reinterpret_cast<Communicator*>(context->saved_data["communicator"].toInt());
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &invstd = saved[3],
                     &count = saved[4];
    const at::Tensor dy = gradients[0].contiguous(x.suggest_memory_format());
    const auto [unused, dweight, dbias] =
        at::native_batch_norm_backward(dy, x, weight, {}, {}, mean, invstd, /*train=*/true,
                                       context->saved_data["eps"].toDouble(), {false, true, true});
    at::Tensor sums = at::cat({dbias, dweight}).to(mean.scalar_type());
    communicator.sum(sums);
    sums = sums / count;
    const int64_t channels = x.size(1);
    const at::Tensor normalised = (x - by_channel(mean)) * by_channel(invstd);
    const at::Tensor dx = (dy - by_channel(sums.narrow(0, 0, channels)) -
                           normalised * by_channel(sums.narrow(0, channels, channels))) *
                          by_channel(weight * invstd);
    return {dx.to(x.scalar_type()), dweight, dbias, at::Tensor(), at::Tensor()};
  }
};

// The same by the CUDA kernels of torch.nn.SyncBatchNorm, in its order
// (torch/nn/modules/_functions.py): no f32 copies of the activations, and the host waits for
// nothing. It brings the running statistics up to date itself. No share may be empty.
struct SynchronisedOnCuda : torch::autograd::Function<SynchronisedOnCuda> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& running_mean, const at::Tensor& running_var,
                            double eps, double momentum, int64_t communicator_address) {
    auto& communicator = *reinterpret_cast<Communicator*>(communicator_address);
    const at::Tensor x = given.contiguous(given.suggest_memory_format());
    const int64_t channels = x.size(1);
    const auto [own_mean, own_invstd] = at::batch_norm_stats(x, eps);
    const at::Tensor own_count = at::full({1}, x.numel() / channels, own_mean.options());
    const at::Tensor all =
        at::stack(communicator.all_gather(at::cat({own_mean, own_invstd, own_count})));
    const at::Tensor counts = all.select(1, 2 * channels).contiguous();
    const auto [mean, invstd] = at::batch_norm_gather_stats_with_counts(
        x, all.narrow(1, 0, channels).contiguous(), all.narrow(1, channels, channels).contiguous(),
        running_mean, running_var, momentum, eps, counts.to(running_mean.scalar_type()));
    context->save_for_backward({x, weight, mean, invstd, counts.to(at::kInt)});
    context->saved_data["communicator"] = communicator_address;
    return at::batch_norm_elemt(x, weight, bias, mean, invstd, eps);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& communicator =
        *reinterpret_cast<Communicator*>(context->saved_data["communicator"].toInt());
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &invstd = saved[3],
                     &counts = saved[4];
    const at::Tensor dy = gradients[0].contiguous(x.suggest_memory_format());
    const auto [sum_dy, sum_dy_xmu, dweight, dbias] = at::batch_norm_backward_reduce(
        dy, x, mean, invstd, weight, /*input_g=*/true, /*weight_g=*/true, /*bias_g=*/true);
    at::Tensor sums = at::cat({sum_dy, sum_dy_xmu});
    communicator.sum(sums);
    const int64_t channels = x.size(1);
    const at::Tensor dx = at::batch_norm_backward_elemt(
        dy, x, mean, invstd, weight.to(mean.scalar_type()), sums.narrow(0, 0, channels),
        sums.narrow(0, channels, channels), counts);
    const at::Tensor none;
    return {dx, dweight, dbias, none, none, none, none, none};
  }
};

}  // namespace

std::array<at::Tensor, 3> synchronised_batch_norm(const at::Tensor& x, const at::Tensor& weight,
                                                  const at::Tensor& bias, double eps,
                                                  Communicator& communicator) {
  variable_list out =
      Synchronised::apply(x, weight, bias, eps, reinterpret_cast<int64_t>(&communicator));
  return {out[0], out[1], out[2]};
}

at::Tensor BatchNormImpl::forward(const at::Tensor& x) {
  const bool is_alone = communicator_ == nullptr || communicator_->is_alone();
  if (is_training() && is_alone && x.numel() == x.size(1)) {
    throw Error(ErrorCode::invalid_argument,
                "batch norm has only one value per channel and cannot compute a variance, because "
                "the batch has one picture and the network reduces this picture to 1 pixel; give a "
                "batch size of 2 or more, or larger pictures");
  }
  if (!is_training() || is_alone) {
    return torch::nn::BatchNorm2dImpl::forward(x);
  }
  const auto next_momentum = [this] {
    at::NoGradGuard no_grad;
    num_batches_tracked += 1;
    return options.momentum() ? *options.momentum() : 1 / num_batches_tracked.item<double>();
  };
  if (x.is_cuda()) {
    return SynchronisedOnCuda::apply(x, weight, bias, running_mean, running_var, options.eps(),
                                     next_momentum(), reinterpret_cast<int64_t>(communicator_));
  }
  const auto [y, mean, var] =
      synchronised_batch_norm(x, weight, bias, options.eps(), *communicator_);
  const double momentum = next_momentum();
  at::NoGradGuard no_grad;
  running_mean.lerp_(mean, momentum);
  running_var.lerp_(var, momentum);
  return y;
}

}  // namespace ffkit
