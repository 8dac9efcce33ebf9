#include "models/blocks/layers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <torch/nn/init.h>

#include <algorithm>

#include "distributed/batch_norm.h"

namespace ffkit {

namespace nn = torch::nn;

nn::Conv2d conv_without_bias(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                             int64_t groups) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel)
                        .stride(stride)
                        .padding(kernel / 2)
                        .groups(groups)
                        .bias(false));
}

std::shared_ptr<Chain> conv_norm(const ConvNormOptions& o) {
  auto chain = std::make_shared<Chain>();
  chain->add(conv_without_bias(o.in, o.out, o.kernel, o.stride, o.groups));
  chain->add(BatchNorm(nn::BatchNormOptions(o.out).eps(o.bn_eps).momentum(o.bn_momentum)));
  if (o.activation) chain->add(o.activation);
  return chain;
}

SqueezeExcitation::SqueezeExcitation(int64_t channels, int64_t squeezed_channels,
                                     Function activation_, Function scale_)
    : activation(std::move(activation_)), scale(std::move(scale_)) {
  fc1 = register_module("fc1", nn::Conv2d(nn::Conv2dOptions(channels, squeezed_channels, 1)));
  fc2 = register_module("fc2", nn::Conv2d(nn::Conv2dOptions(squeezed_channels, channels, 1)));
}

at::Tensor SqueezeExcitation::forward(const at::Tensor& x) {
  const at::Tensor mean = at::adaptive_avg_pool2d(x, {1, 1});
  return scale(fc2(activation(fc1(mean)))) * x;
}

at::Tensor stochastic_depth(const at::Tensor& x, double probability, bool is_training) {
  if (!is_training || probability == 0) return x;
  std::vector<int64_t> shape(x.dim(), 1);
  shape[0] = x.size(0);
  at::Tensor kept = at::empty(shape, x.options()).bernoulli_(1 - probability);
  return x * kept.div_(1 - probability);
}

std::shared_ptr<Chain> transformer_mlp(int64_t width) {
  auto chain = std::make_shared<Chain>();
  const nn::Linear first(width, 4 * width);
  const nn::Linear second(4 * width, width);
  chain->add(first);
  chain->add([](const at::Tensor& x) { return at::gelu(x); });
  chain->add([](const at::Tensor& x) { return x; });  // torchvision's dropout, of probability 0
  chain->add(second);
  for (const nn::Linear& linear : {first, second}) {
    nn::init::xavier_uniform_(linear->weight);
    nn::init::normal_(linear->bias, 0, 1e-6);
  }
  return chain;
}

at::Tensor relu(const at::Tensor& x) {
  return at::relu(x);
}

Residual::Residual(const std::string& name, std::shared_ptr<Chain> chain_, bool has_shortcut_,
                   double drop_probability_)
    : chain(register_module(name, std::move(chain_))),
      has_shortcut(has_shortcut_),
      drop_probability(drop_probability_) {}

at::Tensor Residual::forward(const at::Tensor& x) {
  const at::Tensor y = chain->forward(x);
  return has_shortcut ? stochastic_depth(y, drop_probability, is_training()) + x : y;
}

at::Tensor drop(const at::Tensor& x, double probability, bool is_training) {
  return probability > 0 ? at::dropout(x, probability, is_training) : x;
}

at::Tensor global_average(const at::Tensor& x) {
  return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
}

void initialise_normal(const at::Tensor& weight, const at::Tensor& bias, double deviation) {
  nn::init::normal_(weight, 0, deviation);
  if (bias.defined()) nn::init::zeros_(bias);
}

void for_convolutions(nn::Module& net, const std::function<void(nn::Conv2dImpl&)>& draw) {
  for (const std::shared_ptr<nn::Module>& module : net.modules(/*include_self=*/false)) {
    if (auto* conv = module->as<nn::Conv2dImpl>()) draw(*conv);
  }
}

void initialise_convolutions(nn::Module& net) {
  for_convolutions(net, [](nn::Conv2dImpl& conv) {
    nn::init::kaiming_normal_(conv.weight, 0.0, torch::kFanOut, torch::kReLU);
    if (conv.bias.defined()) nn::init::zeros_(conv.bias);
  });
}

int64_t round_to_eights(double channels) {
  const int64_t rounded = std::max(int64_t{8}, static_cast<int64_t>(channels + 4) / 8 * 8);
  return rounded < 0.9 * channels ? rounded + 8 : rounded;
}

}  // namespace ffkit
