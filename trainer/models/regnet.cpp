// RegNet (Radosavovic et al., "Designing Network Design Spaces", 2020) as torchvision builds it,
// with its initial draws.
#include <ATen/ops/sigmoid.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

// The widths are those that torchvision's BlockParams computes from the paper's parameters.
struct RegNetConfig {
  const char* name;
  bool has_squeeze;
  int64_t group_width;
  std::array<int64_t, 4> widths, depths;
};
constexpr RegNetConfig kRegNets[] = {
    {"regnet_y_400mf", true, 8, {48, 104, 208, 440}, {1, 3, 6, 6}},
    {"regnet_y_800mf", true, 16, {64, 144, 320, 784}, {1, 3, 8, 2}},
    {"regnet_y_1_6gf", true, 24, {48, 120, 336, 888}, {2, 6, 17, 2}},
    {"regnet_y_3_2gf", true, 24, {72, 216, 576, 1512}, {2, 5, 13, 1}},
    {"regnet_y_8gf", true, 56, {224, 448, 896, 2016}, {2, 4, 10, 1}},
    {"regnet_y_16gf", true, 112, {224, 448, 1232, 3024}, {2, 4, 11, 1}},
    {"regnet_y_32gf", true, 232, {232, 696, 1392, 3712}, {2, 5, 12, 1}},
    {"regnet_y_128gf", true, 264, {528, 1056, 2904, 7392}, {2, 7, 17, 1}},
    {"regnet_x_400mf", false, 16, {32, 64, 160, 400}, {1, 2, 7, 12}},
    {"regnet_x_800mf", false, 16, {64, 128, 288, 672}, {1, 3, 7, 5}},
    {"regnet_x_1_6gf", false, 24, {72, 168, 408, 912}, {2, 4, 10, 2}},
    {"regnet_x_3_2gf", false, 48, {96, 192, 432, 1008}, {2, 6, 15, 2}},
    {"regnet_x_8gf", false, 120, {80, 240, 720, 1920}, {2, 5, 15, 1}},
    {"regnet_x_16gf", false, 128, {256, 512, 896, 2048}, {2, 6, 13, 1}},
    {"regnet_x_32gf", false, 168, {336, 672, 1344, 2520}, {2, 7, 13, 1}}};

struct RegNetBlock : nn::Module {
  RegNetBlock(const RegNetConfig& config, int64_t in, int64_t out, int64_t stride) {
    if (in != out || stride != 1) {
      proj =
          register_module("proj", conv_norm({.in = in, .out = out, .kernel = 1, .stride = stride}));
    }
    const int64_t groups = out / std::min(out, config.group_width);
    f = std::make_shared<Chain>();
    f->add("a", conv_norm({.in = in, .out = out, .kernel = 1, .activation = relu}));
    f->add(
        "b",
        conv_norm({.in = out, .out = out, .stride = stride, .groups = groups, .activation = relu}));
    if (config.has_squeeze) {
      const auto squeezed = static_cast<int64_t>(std::nearbyint(0.25 * in));
      f->add("se", std::make_shared<SqueezeExcitation>(
                       out, squeezed, relu, [](const at::Tensor& x) { return at::sigmoid(x); }));
    }
    f->add("c", conv_norm({.in = out, .out = out, .kernel = 1}));
    register_module("f", f);
  }

  at::Tensor forward(const at::Tensor& x) {
    return ((proj ? proj->forward(x) : x) + f->forward(x)).relu();
  }

  std::shared_ptr<Chain> proj, f;
};

class RegNet : public Net {
 public:
  RegNet(const RegNetConfig& config, const ModelShape& shape) {
    int64_t in = 32;
    add("stem", conv_norm({.in = 3, .out = in, .stride = 2, .activation = relu}));
    auto trunk = std::make_shared<Chain>();
    for (size_t i = 0; i < config.widths.size(); ++i) {
      auto stage = std::make_shared<Chain>();
      for (int64_t j = 0; j < config.depths[i]; ++j, in = config.widths[i]) {
        stage->add(fmt::format("block{}-{}", i + 1, j),
                   std::make_shared<RegNetBlock>(config, in, config.widths[i], j == 0 ? 2 : 1));
      }
      trunk->add(fmt::format("block{}", i + 1), stage);
    }
    add("trunk_output", trunk);
    const nn::Linear fc = add_head("fc", in, shape);
    for_convolutions(*this, [](nn::Conv2dImpl& conv) {
      nn::init::kaiming_normal_(conv.weight, 0.0, torch::kFanOut, torch::kReLU);
    });
    initialise_normal(fc->weight, fc->bias, 0.01);
  }
};

}  // namespace

void register_regnet(ModelRegistry& registry) {
  add_models<RegNet>(registry, kRegNets, "fc");
}

}  // namespace ffkit
