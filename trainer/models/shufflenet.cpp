// ShuffleNetV2 (Ma et al., "ShuffleNet V2", 2018) as torchvision builds it, with its initial draws.
#include <ATen/ops/cat.h>
#include <ATen/ops/max_pool2d.h>
#include <fmt/format.h>

#include <array>

#include "distributed/batch_norm.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct ShuffleNetConfig {
  const char* name;
  int64_t channels;  // of the first stage; each of the others has twice as many
  int64_t last;      // channels of the last convolution
};
constexpr ShuffleNetConfig kShuffleNets[] = {{"shufflenet_v2_x0_5", 48, 1024},
                                             {"shufflenet_v2_x1_0", 116, 1024},
                                             {"shufflenet_v2_x1_5", 176, 1024},
                                             {"shufflenet_v2_x2_0", 244, 2048}};
constexpr std::array<int64_t, 3> kShuffleNetDepths = {4, 8, 4};

// A branch of a block: a 1x1 convolution (not if `in` is 0), a depthwise one, a 1x1 one.
std::shared_ptr<Chain> branch(int64_t in, int64_t width, int64_t out, int64_t stride) {
  auto chain = std::make_shared<Chain>();
  const auto add = [&](int64_t from, int64_t to, int64_t kernel, int64_t step, int64_t groups) {
    chain->add(conv_without_bias(from, to, kernel, step, groups));
    chain->add(BatchNorm(to));
    if (groups == 1) chain->add(relu);
  };
  if (in > 0) add(in, width, 1, 1, 1);
  add(width, width, 3, stride, width);
  add(width, out, 1, 1, 1);
  return chain;
}

struct ShuffleNetBlock : nn::Module {
  ShuffleNetBlock(int64_t in, int64_t out, int64_t stride) {
    const int64_t half = out / 2;
    if (stride > 1) branch1 = register_module("branch1", branch(0, in, half, stride));
    branch2 = register_module("branch2", branch(stride > 1 ? in : half, half, half, stride));
  }

  at::Tensor forward(const at::Tensor& x) {
    const std::vector<at::Tensor> halves = x.chunk(2, 1);
    const at::Tensor y = branch1 ? at::cat({branch1->forward(x), branch2->forward(x)}, 1)
                                 : at::cat({halves[0], branch2->forward(halves[1])}, 1);
    // The channels of both branches by turns.
    return y.reshape({y.size(0), 2, y.size(1) / 2, y.size(2), y.size(3)})
        .transpose(1, 2)
        .reshape(y.sizes());
  }

  std::shared_ptr<Chain> branch1, branch2;
};

class ShuffleNet : public Net {
 public:
  ShuffleNet(const ShuffleNetConfig& config, const ModelShape& shape) {
    int64_t in = 24;
    add("conv1", conv_norm({.in = 3, .out = in, .stride = 2, .activation = relu}));
    add([](const at::Tensor& x) { return at::max_pool2d(x, 3, 2, 1); });
    for (size_t i = 0; i < kShuffleNetDepths.size(); ++i) {
      const int64_t out = config.channels << i;
      auto stage = std::make_shared<Chain>();
      for (int64_t j = 0; j < kShuffleNetDepths[i]; ++j, in = out)
        stage->add(std::make_shared<ShuffleNetBlock>(in, out, j == 0 ? 2 : 1));
      add(fmt::format("stage{}", i + 2), stage);
    }
    add("conv5", conv_norm({.in = in, .out = config.last, .kernel = 1, .activation = relu}));
    add_head("fc", config.last, shape);
  }
};

}  // namespace

void register_shufflenet(ModelRegistry& registry) {
  add_models<ShuffleNet>(registry, kShuffleNets, "fc");
}

}  // namespace ffkit
