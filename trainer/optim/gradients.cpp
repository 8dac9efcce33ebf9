#include "optim/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace ffkit {
namespace {

std::vector<at::Tensor> gradients_of(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& p : parameters) {
    if (p.tensor.grad().defined()) gradients.push_back(p.tensor.grad());
  }
  return gradients;
}

}  // namespace

at::Tensor gradient_norm(const std::vector<NamedTensor>& parameters) {
  at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return at::zeros({});
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
}

void multiply_gradients(const std::vector<NamedTensor>& parameters, const at::Tensor& factor) {
  at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (!gradients.empty()) at::_foreach_mul_(gradients, factor);
}

void scale_gradients(const std::vector<NamedTensor>& parameters, const at::Tensor& norm,
                     double max_norm) {
  multiply_gradients(parameters, norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1));
}

namespace {

// torch.amp.GradScaler's defaults.
constexpr double kInitialScale = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr int64_t kGrowthInterval = 2000;

}  // namespace

GradScaler::GradScaler(bool is_on, double fixed_scale, c10::Device device)
    : is_on_(is_on), is_dynamic_(fixed_scale == 0) {
  if (!is_on_) return;
  const auto f32 = at::TensorOptions(at::kFloat).device(device);
  scale_ = at::full({1}, is_dynamic_ ? kInitialScale : fixed_scale, f32);
  growth_tracker_ = at::zeros({1}, f32.dtype(at::kInt));
  found_inf_ = at::zeros({1}, f32);
}

at::Tensor GradScaler::scale(const at::Tensor& loss) const {
  return is_on_ ? loss * scale_.squeeze(0) : loss;
}

bool GradScaler::unscale(const std::vector<NamedTensor>& parameters,
                         const std::function<bool(bool own)>& agree) {
  if (!is_on_) return true;
  at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  found_inf_.zero_();
  if (!gradients.empty())
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, scale_.reciprocal());
  const bool is_finite = agree(found_inf_.item<float>() == 0);
  if (!is_finite) found_inf_.fill_(1);
  return is_finite;
}

void GradScaler::update() {
  if (!is_on_ || !is_dynamic_) return;
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, kGrowth, kBackoff, kGrowthInterval);
}

std::vector<NamedTensor> GradScaler::state() const {
  if (!is_on_) return {};
  return {{"scale", scale_}, {"growth_tracker", growth_tracker_}};
}

}  // namespace ffkit
