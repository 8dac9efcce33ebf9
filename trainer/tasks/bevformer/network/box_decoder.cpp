#include "tasks/bevformer/network/box_decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <memory>

#include "tasks/bevformer/network/attention_layer.h"

namespace ffkit {
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
