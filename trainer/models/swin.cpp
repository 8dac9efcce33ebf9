// Swin transformers (Liu et al., "Swin Transformer: Hierarchical Vision Transformer using Shifted
// Windows", 2021, and "Swin Transformer V2", 2022) as torchvision builds them, with its initial
// draws.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <array>
#include <cmath>
#include <numeric>

#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct SwinConfig {
  const char* name;
  int64_t channels;   // of the first stage; each of the others has twice as many
  int64_t num_heads;  // of the first stage; each of the others has twice as many
  std::array<int64_t, 4> depths;
  int64_t window;           // its side, in pixels of the map
  double stochastic_depth;  // of the last block, rising linearly from 0
  bool is_v2;
};
constexpr SwinConfig kSwins[] = {{"swin_t", 96, 3, {2, 2, 6, 2}, 7, 0.2, false},
                                 {"swin_s", 96, 3, {2, 2, 18, 2}, 7, 0.3, false},
                                 {"swin_b", 128, 4, {2, 2, 18, 2}, 7, 0.5, false},
                                 {"swin_v2_t", 96, 3, {2, 2, 6, 2}, 8, 0.2, true},
                                 {"swin_v2_s", 96, 3, {2, 2, 18, 2}, 8, 0.3, true},
                                 {"swin_v2_b", 128, 4, {2, 2, 18, 2}, 8, 0.5, true}};

nn::LayerNorm swin_norm(int64_t channels) {
  return nn::LayerNorm(nn::LayerNormOptions({channels}));
}

// [N,H,W,C] -> [N * windows, side * side, C]
at::Tensor windows_of(const at::Tensor& x, int64_t side) {
  return x.view({x.size(0), x.size(1) / side, side, x.size(2) / side, side, x.size(3)})
      .permute({0, 1, 3, 2, 4, 5})
      .reshape({-1, side * side, x.size(3)});
}

// After a shift of the map, its last window has pixels from both ends: [length] numbers, equal for
// pixels that were neighbours.
at::Tensor regions(int64_t length, int64_t side, int64_t shift) {
  const at::Tensor i = at::arange(length);
  return i.ge(length - side).to(at::kLong) + i.ge(length - shift).to(at::kLong);
}

// Attention of each window of a map with itself: [N,H,W,C] -> [N,H,W,C].
struct WindowAttention : nn::Module {
  WindowAttention(const SwinConfig& config, int64_t channels, int64_t heads, int64_t shift_)
      : side(config.window), num_heads(heads), shift(shift_) {
    qkv = register_module("qkv", nn::Linear(channels, 3 * channels));
    proj = register_module("proj", nn::Linear(channels, channels));
    const int64_t width = 2 * side - 1;  // of the differences of two places in a window
    if (config.is_v2) {
      const at::Tensor c = at::arange(1 - side, side, at::kFloat) / (side - 1) * 8;
      const at::Tensor scaled = c.sign() * at::log2(c.abs() + 1) / 3;
      coordinates = register_buffer("relative_coords_table",
                                    at::stack({scaled.unsqueeze(1).expand({width, width}),
                                               scaled.unsqueeze(0).expand({width, width})},
                                              -1)
                                        .unsqueeze(0));
    } else {
      bias_table = register_parameter("relative_position_bias_table",
                                      at::empty({width * width, heads}).normal_(0, 0.02));
    }
    const at::Tensor y = at::arange(side).repeat_interleave(side);
    const at::Tensor x = at::arange(side).repeat({side});
    index = register_buffer(
        "relative_position_index",
        ((y.unsqueeze(1) - y + side - 1) * width + x.unsqueeze(1) - x + side - 1).flatten());
    if (config.is_v2) {
      logit_scale = register_parameter("logit_scale", (at::ones({heads, 1, 1}) * 10).log());
      bias_mlp = std::make_shared<Chain>();
      bias_mlp->add(nn::Linear(2, 512));
      bias_mlp->add(relu);
      bias_mlp->add(nn::Linear(nn::LinearOptions(512, heads).bias(false)));
      register_module("cpb_mlp", bias_mlp);
    }
  }

  at::Tensor forward(const at::Tensor& input) {
    const int64_t height = input.size(1), width = input.size(2), channels = input.size(3);
    const auto padding = [&](int64_t length) { return (side - length % side) % side; };
    at::Tensor x = at::constant_pad_nd(input, {0, 0, 0, padding(width), 0, padding(height)});
    const at::IntArrayRef padded = x.sizes();
    const int64_t rows = padded[1], columns = padded[2];
    const int64_t down = side >= rows ? 0 : shift, right = side >= columns ? 0 : shift;
    x = at::roll(x, {-down, -right}, {1, 2});
    const at::Tensor windows = windows_of(x, side);
    const int64_t length = side * side;
    const at::Tensor parts = at::linear(windows, qkv->weight, qkv_bias())
                                 .view({-1, length, 3, num_heads, channels / num_heads})
                                 .permute({2, 0, 3, 1, 4});
    at::Tensor attention = similarity(parts[0], parts[1]) + position_bias();
    if (down + right > 0) {
      const at::Tensor map =
          regions(rows, side, down).unsqueeze(1) * 3 + regions(columns, side, right);
      const at::Tensor region = windows_of(map.view({1, rows, columns, 1}), side).squeeze(2);
      const at::Tensor mask = region.unsqueeze(1).ne(region.unsqueeze(2)).to(x.options()) * -100;
      attention = (attention.view({x.size(0), -1, num_heads, length, length}) + mask.unsqueeze(1))
                      .view({-1, num_heads, length, length});
    }
    const at::Tensor y =
        proj(attention.softmax(-1).matmul(parts[2]).transpose(1, 2).reshape(windows.sizes()));
    x = y.view({-1, rows / side, columns / side, side, side, channels})
            .permute({0, 1, 3, 2, 4, 5})
            .reshape({-1, rows, columns, channels});
    x = at::roll(x, {down, right}, {1, 2});
    return x.narrow(1, 0, height).narrow(2, 0, width).contiguous();
  }

  // V2's keys have no bias.
  at::Tensor qkv_bias() const {
    if (!logit_scale.defined()) return qkv->bias;
    const std::vector<at::Tensor> parts = qkv->bias.chunk(3);
    return at::cat({parts[0], at::zeros_like(parts[1]), parts[2]});
  }

  at::Tensor similarity(const at::Tensor& q, const at::Tensor& k) const {
    if (!logit_scale.defined()) {
      return (q * std::pow(static_cast<double>(q.size(-1)), -0.5)).matmul(k.transpose(-2, -1));
    }
    const auto unit = [](const at::Tensor& v) {
      return v / v.norm(2, {-1}, /*keepdim=*/true).clamp_min(1e-12);
    };
    return unit(q).matmul(unit(k).transpose(-2, -1)) * logit_scale.clamp_max(std::log(100.0)).exp();
  }

  // [1,heads,L,L] for the L places of a window
  at::Tensor position_bias() const {
    const at::Tensor table =
        bias_mlp ? bias_mlp->forward(coordinates).view({-1, num_heads}) : bias_table;
    const at::Tensor bias = table.index_select(0, index)
                                .view({side * side, side * side, num_heads})
                                .permute({2, 0, 1})
                                .unsqueeze(0);
    return bias_mlp ? 16 * bias.sigmoid() : bias;
  }

  int64_t side, num_heads, shift;
  nn::Linear qkv{nullptr}, proj{nullptr};
  at::Tensor index;
  at::Tensor bias_table;                // of the first version
  at::Tensor coordinates, logit_scale;  // of the second
  std::shared_ptr<Chain> bias_mlp;
};

struct SwinBlock : nn::Module {
  SwinBlock(const SwinConfig& config, int64_t channels, int64_t heads, int64_t shift,
            double drop_probability_)
      : norms_first(!config.is_v2), drop_probability(drop_probability_) {
    norm1 = register_module("norm1", swin_norm(channels));
    attn =
        register_module("attn", std::make_shared<WindowAttention>(config, channels, heads, shift));
    norm2 = register_module("norm2", swin_norm(channels));
    mlp = register_module("mlp", transformer_mlp(channels));
  }

  at::Tensor forward(const at::Tensor& input) {
    const auto step = [&](const at::Tensor& x, auto& part, nn::LayerNorm& norm) {
      const at::Tensor y = norms_first ? part.forward(norm(x)) : norm(part.forward(x));
      return x + stochastic_depth(y, drop_probability, is_training());
    };
    return step(step(input, *attn, norm1), *mlp, norm2);
  }

  bool norms_first;
  double drop_probability;
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  std::shared_ptr<WindowAttention> attn;
  std::shared_ptr<Chain> mlp;
};

// Half as many rows and columns, twice as many channels: [N,H,W,C] -> [N,H/2,W/2,2C], rounded up.
struct PatchMerging : nn::Module {
  PatchMerging(int64_t channels, bool norms_first_) : norms_first(norms_first_) {
    reduction = register_module(
        "reduction", nn::Linear(nn::LinearOptions(4 * channels, 2 * channels).bias(false)));
    norm = register_module("norm", swin_norm((norms_first ? 4 : 2) * channels));
  }

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor x =
        at::constant_pad_nd(input, {0, 0, 0, input.size(2) % 2, 0, input.size(1) % 2});
    std::vector<at::Tensor> parts;
    for (const int64_t column : {0, 1}) {
      for (const int64_t row : {0, 1})
        parts.push_back(x.slice(1, row, std::nullopt, 2).slice(2, column, std::nullopt, 2));
    }
    const at::Tensor merged = at::cat(parts, -1);
    return norms_first ? reduction(norm(merged)) : norm(reduction(merged));
  }

  bool norms_first;
  nn::Linear reduction{nullptr};
  nn::LayerNorm norm{nullptr};
};

class SwinTransformer : public Net {
 public:
  SwinTransformer(const SwinConfig& config, const ModelShape& shape) {
    int64_t channels = config.channels, heads = config.num_heads;
    auto features = std::make_shared<Chain>();
    auto stem = std::make_shared<Chain>();
    stem->add(nn::Conv2d(nn::Conv2dOptions(3, channels, 4).stride(4)));
    stem->add([](const at::Tensor& x) { return x.permute({0, 2, 3, 1}); });
    stem->add(swin_norm(channels));
    features->add(stem);
    const auto num_blocks = std::accumulate(config.depths.begin(), config.depths.end(), int64_t{0});
    int64_t block = 0;
    for (size_t i = 0; i < config.depths.size(); ++i) {
      if (i > 0) {
        features->add(std::make_shared<PatchMerging>(channels, !config.is_v2));
        channels *= 2;
        heads *= 2;
      }
      auto stage = std::make_shared<Chain>();
      for (int64_t j = 0; j < config.depths[i]; ++j, ++block) {
        stage->add(std::make_shared<SwinBlock>(config, channels, heads,
                                               j % 2 == 0 ? 0 : config.window / 2,
                                               config.stochastic_depth * block / (num_blocks - 1)));
      }
      features->add(stage);
    }
    add("features", features);
    add("norm", swin_norm(channels).ptr());
    add([](const at::Tensor& x) { return x.permute({0, 3, 1, 2}); });
    add_head("head", channels, shape);
    // torchvision's trunc_normal_ cuts at +-2, which is 100 standard deviations: torch 2.15 draws
    // what normal_ draws.
    for (const std::shared_ptr<nn::Module>& module : modules(/*include_self=*/false)) {
      if (auto* linear = module->as<nn::LinearImpl>())
        initialise_normal(linear->weight, linear->bias, 0.02);
    }
  }
};

}  // namespace

void register_swin(ModelRegistry& registry) {
  add_models<SwinTransformer>(registry, kSwins, "head");
}

}  // namespace ffkit
