// AttentionLayer: what a layer of the encoder and one of the decoder consist of: two attentions and
// a feed-forward network, a layer norm behind each. Who has it calls them in order.
#pragma once

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/normalization.h>

#include <memory>

#include "tasks/bevformer/network/attention.h"

namespace ffkit {

template <typename SelfAttention, typename CrossAttention>
struct AttentionLayer : torch::nn::Module {
  explicit AttentionLayer(const BevFormerConfig& config)
      : self_attention(std::make_shared<SelfAttention>(config)),
        cross_attention(std::make_shared<CrossAttention>(config)),
        feed_forward(
            std::make_shared<FeedForward>(config.embed_dims, config.ffn_dims, config.dropout)) {
    register_module("attentions", torch::nn::ModuleList(self_attention, cross_attention));
    register_module("ffns", torch::nn::ModuleList(feed_forward));
    norms_ = register_module("norms", torch::nn::ModuleList());
    for (int i = 0; i < 3; ++i) {
      norms_->push_back(torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.embed_dims})));
    }
  }

  at::Tensor norm(size_t i, const at::Tensor& x) {
    return norms_->ptr<torch::nn::LayerNormImpl>(i)->forward(x);
  }

  const std::shared_ptr<SelfAttention> self_attention;
  const std::shared_ptr<CrossAttention> cross_attention;
  const std::shared_ptr<FeedForward> feed_forward;

 private:
  torch::nn::ModuleList norms_;
};

}  // namespace ffkit
