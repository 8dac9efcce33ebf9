#include "tasks/bevformer/network/transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/normalization.h>

#include <memory>

#include "tasks/bevformer/network/attention.h"

namespace ffkit {
namespace {

// AttentionLayer: what a layer of the encoder and one of the decoder consist of: two attentions and
// a feed-forward network, a layer norm behind each. Who has it calls them in order.
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

using EncoderLayer = AttentionLayer<TemporalSelfAttention, SpatialCrossAttention>;

}  // namespace

BevEncoder::BevEncoder(const BevFormerConfig& config) {
  layers_ = register_module("layers", torch::nn::ModuleList());
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    layers_->push_back(std::make_shared<EncoderLayer>(config));
  }
}

at::Tensor BevEncoder::forward(const BevHistory& history, const at::Tensor& position,
                               const at::Tensor& maps, const std::vector<MapSize>& levels,
                               const VisibleCells& cells, const Observer& observer) {
  at::Tensor query = history.query;
  for (size_t i = 0; i < layers_->size(); ++i) {
    EncoderLayer& layer = *layers_->ptr<EncoderLayer>(i);
    const std::string name = fmt::format("encoder.layers.{}", i);
    const auto observe = [&](const char* part, const at::Tensor& value) {
      if (observer) observer(name + part, value);
    };
    query = layer.self_attention->forward(query, position, history);
    observe(".tsa", query);
    query = layer.norm(0, query);
    query = layer.cross_attention->forward(query, maps, levels, cells, name, observer);
    observe(".sca", query);
    query = layer.norm(1, query);
    query = layer.feed_forward->forward(query);
    observe(".ffn", query);
    query = layer.norm(2, query);
    observe("", query);
  }
  return query;
}

namespace {

using DecoderLayer = AttentionLayer<QuerySelfAttention, BevCrossAttention>;

}  // namespace

at::Tensor inverse_sigmoid(const at::Tensor& x) {
  constexpr double kEps = 1e-5;
  const at::Tensor inside = x.clamp(0, 1);
  return at::log(inside.clamp_min(kEps) / (1 - inside).clamp_min(kEps));
}

BoxDecoder::BoxDecoder(const BevFormerConfig& config) {
  layers_ = register_module("layers", torch::nn::ModuleList());
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    layers_->push_back(std::make_shared<DecoderLayer>(config));
  }
}

BoxDecoder::Output BoxDecoder::forward(
    const at::Tensor& bev, at::Tensor query, const at::Tensor& position, at::Tensor references,
    const std::function<at::Tensor(size_t layer, const at::Tensor& states)>& regress,
    const Observer& observer) {
  Output out;
  std::vector<at::Tensor> refined;
  for (size_t i = 0; i < layers_->size(); ++i) {
    DecoderLayer& layer = *layers_->ptr<DecoderLayer>(i);
    const auto observe = [&](const char* part, const at::Tensor& value) {
      // The published code has queries before samples.
      if (observer) observer(fmt::format("decoder.layers.{}{}", i, part), value.transpose(0, 1));
    };
    query = layer.self_attention->forward(query, position);
    observe(".self_attn", query);
    query = layer.norm(0, query);
    query = layer.cross_attention->forward(query, position, bev, references.narrow(-1, 0, 2));
    observe(".cross_attn", query);
    query = layer.norm(1, query);
    query = layer.feed_forward->forward(query);
    query = layer.norm(2, query);
    observe("", query);
    out.states.push_back(query);
    out.references.push_back(references);
    out.boxes.push_back(regress(i, query));
    const at::Tensor& step = out.boxes.back();
    references =
        (at::cat({step.narrow(-1, 0, 2), step.narrow(-1, 4, 1)}, -1) + inverse_sigmoid(references))
            .sigmoid()
            .detach();
    refined.push_back(references);
  }
  if (observer) observer("decoder.inter_references", at::stack(refined));
  return out;
}

}  // namespace ffkit
