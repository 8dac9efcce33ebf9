// ViT-B/16 (Dosovitskiy et al., "An Image is Worth 16x16 Words", 2020) as torchvision builds it,
// with its initial draws.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include "base/make_error.h"
#include "model/model_registry.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

namespace nn = torch::nn;

constexpr int64_t kPatch = 16;
constexpr int64_t kDepth = 12;
constexpr int64_t kNumHeads = 12;
constexpr int64_t kWidth = 768;
constexpr int64_t kMlpWidth = 3072;

nn::LayerNorm layer_norm() {
  return nn::LayerNorm(nn::LayerNormOptions({kWidth}).eps(1e-6));
}

// torch.nn.MultiheadAttention of a sequence with itself: [N,L,kWidth] -> [N,L,kWidth].
struct SelfAttention : nn::Module {
  SelfAttention() {
    in_proj_weight = register_parameter("in_proj_weight", at::empty({3 * kWidth, kWidth}));
    in_proj_bias = register_parameter("in_proj_bias", at::zeros({3 * kWidth}));
    out_proj = register_module("out_proj", nn::Linear(kWidth, kWidth));
    nn::init::xavier_uniform_(in_proj_weight);
    nn::init::zeros_(out_proj->bias);
  }

  at::Tensor forward(const at::Tensor& x) {
    const int64_t n = x.size(0);
    const int64_t length = x.size(1);
    const at::Tensor qkv = at::linear(x, in_proj_weight, in_proj_bias)
                               .view({n, length, 3, kNumHeads, kWidth / kNumHeads})
                               .permute({2, 0, 3, 1, 4});
    const at::Tensor y = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    return out_proj(y.transpose(1, 2).reshape({n, length, kWidth}));
  }

  at::Tensor in_proj_weight, in_proj_bias;
  nn::Linear out_proj{nullptr};
};

std::shared_ptr<Chain> mlp() {
  auto chain = std::make_shared<Chain>();
  const nn::Linear first(kWidth, kMlpWidth);
  const nn::Linear second(kMlpWidth, kWidth);
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

struct EncoderBlock : nn::Module {
  EncoderBlock() {
    ln_1 = register_module("ln_1", layer_norm());
    self_attention = register_module("self_attention", std::make_shared<SelfAttention>());
    ln_2 = register_module("ln_2", layer_norm());
    mlp_ = register_module("mlp", mlp());
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
  explicit Encoder(int64_t length) {
    pos_embedding =
        register_parameter("pos_embedding", at::empty({1, length, kWidth}).normal_(0, 0.02));
    layers = std::make_shared<Chain>();
    for (int64_t i = 0; i < kDepth; ++i) {
      layers->add(fmt::format("encoder_layer_{}", i), std::make_shared<EncoderBlock>());
    }
    register_module("layers", layers);
    ln = register_module("ln", layer_norm());
  }

  at::Tensor forward(const at::Tensor& x) { return ln(layers->forward(x + pos_embedding)); }

  at::Tensor pos_embedding;
  std::shared_ptr<Chain> layers;
  nn::LayerNorm ln{nullptr};
};

class VisionTransformer : public Net {
 public:
  explicit VisionTransformer(const ModelShape& shape)
      : image_size_(shape.image_size), dropout_(shape.dropout) {
    class_token_ = register_parameter("class_token", at::zeros({1, 1, kWidth}));
    conv_proj_ = register_module("conv_proj",
                                 nn::Conv2d(nn::Conv2dOptions(3, kWidth, kPatch).stride(kPatch)));
    const int64_t side = shape.image_size / kPatch;
    encoder_ = register_module("encoder", std::make_shared<Encoder>(side * side + 1));
    const nn::Linear head(kWidth, shape.num_classes);
    heads_->add("head", head.ptr());
    register_module("heads", heads_);
    // torchvision's trunc_normal_ cuts at +-2, which is 55 standard deviations: torch 2.15 draws
    // what normal_ draws.
    nn::init::normal_(conv_proj_->weight, 0, std::sqrt(1.0 / (3 * kPatch * kPatch)));
    nn::init::zeros_(conv_proj_->bias);
    nn::init::zeros_(head->weight);
    nn::init::zeros_(head->bias);
  }

  at::Tensor forward(const at::Tensor& images) override {
    if (images.size(2) != image_size_ || images.size(3) != image_size_) {
      throw error_of(ErrorCode::invalid_argument,
                     "this vit_b_16 needs pictures of {0} x {0} pixels, but it got pictures of {1} "
                     "x {2} pixels; leave out progressive-size, and set eval-size to image-size",
                     image_size_, images.size(3), images.size(2));
    }
    const at::Tensor patches = conv_proj_(images).flatten(2).transpose(1, 2);
    const at::Tensor x =
        encoder_->forward(at::cat({class_token_.expand({images.size(0), -1, -1}), patches}, 1));
    return heads_->forward(drop(x.select(1, 0), dropout_, is_training()));
  }

 private:
  int64_t image_size_;
  double dropout_;
  at::Tensor class_token_;
  nn::Conv2d conv_proj_{nullptr};
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Chain> heads_ = std::make_shared<Chain>();
};

std::unique_ptr<ImageModel> make_vit_b_16(const ModelShape& shape) {
  if (shape.image_size < kPatch || shape.image_size % kPatch != 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "vit_b_16 cuts pictures into squares of {0} x {0} pixels, but --image-size is "
                   "{1}; it must be a multiple of {0}",
                   kPatch, shape.image_size);
  }
  return make_model_of(std::make_shared<VisionTransformer>(shape));
}

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
  registry.add({.name = "vit_b_16",
                .head = "heads.head",
                .make = make_vit_b_16,
                .current_name = current_name});
}

}  // namespace ffkit
