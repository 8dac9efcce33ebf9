#include "tasks/rootnet/network/rootnet_network.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>

#include <utility>

#include "base/make_error.h"
#include "distributed/batch_norm.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

constexpr int kDeconvolutions = 3;
constexpr double kInitialDeviation = 0.001;  // of all weights of the head

nn::Conv2d one_number_a_pixel(int64_t channels) {
  nn::Conv2d conv(nn::Conv2dOptions(channels, 1, 1));
  initialise_normal(conv->weight, conv->bias, kInitialDeviation);
  return conv;
}

}  // namespace

struct RootNetNetwork::Backbone : nn::Module {
  explicit Backbone(const RootNetConfig& config) : body(*this, config) {
    initialise_convolutions(*this);
  }
  ResNetBody body;
};

struct RootNetNetwork::Root : nn::Module {
  Root(int64_t in, int64_t out) {
    auto chain = std::make_shared<Chain>();
    int64_t channels = in;
    for (int i = 0; i < kDeconvolutions; ++i) {
      nn::ConvTranspose2d deconv(
          nn::ConvTranspose2dOptions(channels, out, 4).stride(2).padding(1).bias(false));
      nn::init::normal_(deconv->weight, 0, kInitialDeviation);
      chain->add(deconv);
      chain->add(BatchNorm(out));
      chain->add([](at::Tensor x) { return x.relu_(); });
      channels = out;
    }
    deconv_layers = register_module("deconv_layers", chain);
    xy_layer = register_module("xy_layer", one_number_a_pixel(out));
    depth_layer = register_module("depth_layer", one_number_a_pixel(in));
  }

  std::shared_ptr<Chain> deconv_layers;
  nn::Conv2d xy_layer{nullptr}, depth_layer{nullptr};
};

RootNetConfig rootnet_config(const std::string& arch) {
  if (arch == "resnet50") return {{.depths = {3, 4, 6, 3}}};
  if (arch == "resnet101") return {{.depths = {3, 4, 23, 3}}};
  if (arch == "resnet152") return {{.depths = {3, 8, 36, 3}}};
  if (arch == "micro") {
    return {{.depths = {1, 1, 1, 1}, .has_bottlenecks = false, .first_width = 16},
            /*deconv_channels=*/32};
  }
  throw error_of(ErrorCode::invalid_argument, "RootNet has no arch '{}'", arch);
}

RootNetNetwork::RootNetNetwork(const RootNetConfig& config) {
  backbone_ = register_module("backbone", std::make_shared<Backbone>(config));
  backbone_module_ = backbone_;
  root_ = register_module(
      "root", std::make_shared<Root>(backbone_->body.channels(3), config.deconv_channels));
}

at::Tensor RootNetNetwork::forward(const at::Tensor& images, const at::Tensor& k,
                                   const Observer& observer) {
  const at::Tensor features = backbone_->body.forward(images).back();
  if (observer) observer("backbone", features);
  at::Tensor x = features;
  const std::vector<Function>& steps = root_->deconv_layers->steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    x = steps[i](std::move(x));
    const bool is_relu = i % kDeconvolutions == 2;
    if (observer && !is_relu) observer(fmt::format("deconv_layers.{}", i), x.clone());
  }
  // From here on in single precision, with autocast too: coordinates have more than the 8 bits of a
  // bf16.
  const at::ScalarType type =
      at::isReducedFloatingType(x.scalar_type()) ? at::kFloat : x.scalar_type();
  const at::Tensor map = root_->xy_layer(x).to(type);
  if (observer) observer("xy_layer", map);
  const int64_t rows = map.size(2), columns = map.size(3);
  const at::Tensor share = at::softmax(map.flatten(1), 1).view({-1, rows, columns});
  const at::Tensor across = at::arange(columns, map.options());
  const at::Tensor down = at::arange(rows, map.options());
  const at::Tensor mean = features.to(type).mean(at::IntArrayRef{2, 3});
  // The 1x1 convolution as a product and a sum, which autocast leaves in single precision.
  const at::Tensor gamma =
      (mean * root_->depth_layer->weight.view({1, -1})).sum(1) + root_->depth_layer->bias;
  if (observer) observer("depth_layer", gamma.view({-1, 1, 1, 1}));
  return at::stack({(share.sum(1) * across).sum(1), (share.sum(2) * down).sum(1), gamma * k}, 1);
}

at::Tensor rootnet_losses(const at::Tensor& coordinates, const at::Tensor& targets,
                          const at::Tensor& visible, const at::Tensor& have_depth) {
  const at::Tensor distance = at::abs(coordinates - targets) * visible.unsqueeze(1);
  return (distance.select(1, 0) + distance.select(1, 1) + distance.select(1, 2) * have_depth) / 3;
}

}  // namespace ffkit
