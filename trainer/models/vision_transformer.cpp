// Vision transformers (Dosovitskiy et al., "An Image is Worth 16x16 Words", 2020) as torchvision
// builds them, with its initial draws.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include "base/make_error.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

struct VitConfig {
  const char* name;
  int64_t patch, depth, num_heads, width;
};
constexpr VitConfig kVits[] = {{"vit_b_16", 16, 12, 12, 768},
                               {"vit_b_32", 32, 12, 12, 768},
                               {"vit_l_16", 16, 24, 16, 1024},
                               {"vit_l_32", 32, 24, 16, 1024},
                               {"vit_h_14", 14, 32, 16, 1280}};

nn::LayerNorm layer_norm(int64_t width) {
  return nn::LayerNorm(nn::LayerNormOptions({width}).eps(1e-6));
}

// torch.nn.MultiheadAttention of a sequence with itself: [N,L,width] -> [N,L,width].
struct SelfAttention : nn::Module {
  SelfAttention(int64_t width, int64_t num_heads_) : num_heads(num_heads_) {
    in_proj_weight = register_parameter("in_proj_weight", at::empty({3 * width, width}));
    in_proj_bias = register_parameter("in_proj_bias", at::zeros({3 * width}));
    out_proj = register_module("out_proj", nn::Linear(width, width));
    nn::init::xavier_uniform_(in_proj_weight);
    nn::init::zeros_(out_proj->bias);
  }

  at::Tensor forward(const at::Tensor& x) {
    const int64_t n = x.size(0);
    const int64_t length = x.size(1);
    const int64_t width = x.size(2);
    const at::Tensor qkv = at::linear(x, in_proj_weight, in_proj_bias)
                               .view({n, length, 3, num_heads, width / num_heads})
                               .permute({2, 0, 3, 1, 4});
    const at::Tensor y = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    return out_proj(y.transpose(1, 2).reshape({n, length, width}));
  }

  int64_t num_heads;
  at::Tensor in_proj_weight, in_proj_bias;
  nn::Linear out_proj{nullptr};
};

struct EncoderBlock : nn::Module {
  explicit EncoderBlock(const VitConfig& c) {
    ln_1 = register_module("ln_1", layer_norm(c.width));
    self_attention =
        register_module("self_attention", std::make_shared<SelfAttention>(c.width, c.num_heads));
    ln_2 = register_module("ln_2", layer_norm(c.width));
    mlp_ = register_module("mlp", transformer_mlp(c.width));
  }

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor x = self_attention->forward(ln_1(input)) + input;
    return x + mlp_->forward(ln_2(x));
  }

  nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  std::shared_ptr<SelfAttention> self_attention;
  std::shared_ptr<Chain> mlp_;
};

struct Encoder : nn::Module {
  Encoder(const VitConfig& c, int64_t length) {
    pos_embedding =
        register_parameter("pos_embedding", at::empty({1, length, c.width}).normal_(0, 0.02));
    layers = std::make_shared<Chain>();
    for (int64_t i = 0; i < c.depth; ++i) {
      layers->add(fmt::format("encoder_layer_{}", i), std::make_shared<EncoderBlock>(c));
    }
    register_module("layers", layers);
    ln = register_module("ln", layer_norm(c.width));
  }

  at::Tensor forward(const at::Tensor& x) { return ln(layers->forward(x + pos_embedding)); }

  at::Tensor pos_embedding;
  std::shared_ptr<Chain> layers;
  nn::LayerNorm ln{nullptr};
};

class VisionTransformer : public Net {
 public:
  VisionTransformer(const VitConfig& c, const ModelShape& shape)
      : name_(c.name), image_size_(shape.image_size), dropout_(shape.dropout) {
    if (shape.image_size < c.patch || shape.image_size % c.patch != 0) {
      throw error_of(
          ErrorCode::invalid_argument,
          "{0} cuts pictures into squares of {1} x {1} pixels, but image-size is {2}; it "
          "must be a multiple of {1}",
          c.name, c.patch, shape.image_size);
    }
    class_token_ = register_parameter("class_token", at::zeros({1, 1, c.width}));
    conv_proj_ = register_module(
        "conv_proj", nn::Conv2d(nn::Conv2dOptions(3, c.width, c.patch).stride(c.patch)));
    const int64_t side = shape.image_size / c.patch;
    encoder_ = register_module("encoder", std::make_shared<Encoder>(c, side * side + 1));
    const nn::Linear head(c.width, shape.num_classes);
    heads_->add("head", head.ptr());
    register_module("heads", heads_);
    // torchvision's trunc_normal_ cuts at +-2, which is over 48 standard deviations: torch 2.15
    // draws what normal_ draws.
    nn::init::normal_(conv_proj_->weight, 0, std::sqrt(1.0 / (3 * c.patch * c.patch)));
    nn::init::zeros_(conv_proj_->bias);
    nn::init::zeros_(head->weight);
    nn::init::zeros_(head->bias);
  }

  at::Tensor forward(const at::Tensor& images) override {
    if (images.size(2) != image_size_ || images.size(3) != image_size_) {
      throw error_of(
          ErrorCode::invalid_argument,
          "this {0} needs pictures of {1} x {1} pixels, but it got pictures of {2} x {3} "
          "pixels; leave out progressive-size, and set eval-size to image-size",
          name_, image_size_, images.size(3), images.size(2));
    }
    const at::Tensor patches = conv_proj_(images).flatten(2).transpose(1, 2);
    const at::Tensor x =
        encoder_->forward(at::cat({class_token_.expand({images.size(0), -1, -1}), patches}, 1));
    return heads_->forward(drop(x.select(1, 0), dropout_, is_training()));
  }

 private:
  const char* name_;
  int64_t image_size_;
  double dropout_;
  at::Tensor class_token_;
  nn::Conv2d conv_proj_{nullptr};
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Chain> heads_ = std::make_shared<Chain>();
};

// Published files have the names from before torchvision 0.13: mlp.linear_1 is mlp.0 today,
// mlp.linear_2 is mlp.3.
std::string current_name(const std::string& name) {
  std::string out = name;
  const auto replace = [&](const std::string& old_part, const char* part) {
    const size_t at = out.find(old_part);
    if (at != std::string::npos) out.replace(at, old_part.size(), part);
  };
  replace(".mlp.linear_1.", ".mlp.0.");
  replace(".mlp.linear_2.", ".mlp.3.");
  return out;
}

}  // namespace

void register_vision_transformer(ModelRegistry& registry) {
  add_models<VisionTransformer>(registry, kVits, "heads.head", current_name);
}

}  // namespace ffkit
