#include "tasks/bevformer/network/bev_encoder.h"

#include <fmt/format.h>

#include <memory>

#include "tasks/bevformer/network/attention_layer.h"

namespace ffkit {
namespace {

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

}  // namespace ffkit
