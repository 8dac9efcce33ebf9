#include "tasks/bevformer/network/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>

#include <numbers>

namespace ffkit {
namespace {

namespace nn = torch::nn;

nn::Linear uniform_linear(int64_t in, int64_t out) {
  nn::Linear layer(in, out);
  nn::init::xavier_uniform_(layer->weight);
  nn::init::zeros_(layer->bias);
  return layer;
}

// Sides of the maps as (x, y), [L, 2].
at::Tensor sides(const std::vector<MapSize>& levels, const at::TensorOptions& options) {
  std::vector<double> numbers;
  for (const MapSize& level : levels) {
    numbers.insert(numbers.end(),
                   {static_cast<double>(level.width), static_cast<double>(level.height)});
  }
  return at::tensor(numbers).to(options).reshape({-1, 2});
}

MapSize bev_size(const BevFormerConfig& config) {
  return {.height = config.bev_rows, .width = config.bev_columns};
}

}  // namespace

SamplingLayers::SamplingLayers(const Size& size) : size_(size) {
  const int64_t points = size.heads * size.maps * size.points;
  sampling_offsets_ = register_module("sampling_offsets", nn::Linear(size.query_dims, 2 * points));
  attention_weights_ = register_module("attention_weights", nn::Linear(size.query_dims, points));
  value_proj_ = register_module("value_proj", uniform_linear(size.dims, size.dims));
  const at::NoGradGuard no_grad;
  // At first the points of a head lie on a ray of its own, 1, 2, ... pixels away (of the square
  // around the query), with equal weights.
  nn::init::zeros_(sampling_offsets_->weight);
  const at::Tensor angles =
      at::arange(size.heads).to(at::kFloat) * (2 * std::numbers::pi / size.heads);
  const at::Tensor rays = at::stack({angles.cos(), angles.sin()}, -1);
  const at::Tensor steps = at::arange(1, size.points + 1).to(at::kFloat).reshape({1, 1, -1, 1});
  const at::Tensor square = rays / rays.abs().amax(-1, /*keepdim=*/true);
  sampling_offsets_->bias.copy_(
      (square.reshape({-1, 1, 1, 2}) * steps).expand({-1, size.maps, -1, -1}).flatten());
  nn::init::zeros_(attention_weights_->weight);
  nn::init::zeros_(attention_weights_->bias);
}

at::Tensor SamplingLayers::offsets(const at::Tensor& query) {
  return sampling_offsets_(query).reshape(
      {query.size(0), query.size(1), size_.heads, size_.maps, size_.points, 2});
}

at::Tensor SamplingLayers::weights(const at::Tensor& query) {
  return attention_weights_(query).reshape(
      {query.size(0), query.size(1), size_.heads, size_.maps, size_.points});
}

at::Tensor SamplingLayers::values(const at::Tensor& maps) {
  return value_proj_(maps).reshape(
      {maps.size(0), maps.size(1), size_.heads, size_.dims / size_.heads});
}

// Two maps: the frame before, and this one.
TemporalSelfAttention::TemporalSelfAttention(const BevFormerConfig& config)
    : SamplingLayers({.query_dims = 2 * config.embed_dims,
                      .dims = config.embed_dims,
                      .heads = config.num_heads,
                      .maps = 2,
                      .points = config.history_points}),
      config_(config) {
  output_proj_ =
      register_module("output_proj", uniform_linear(config.embed_dims, config.embed_dims));
  dropout_ = register_module("dropout", nn::Dropout(config.dropout));
}

at::Tensor TemporalSelfAttention::forward(const at::Tensor& query, const at::Tensor& position,
                                          const BevHistory& history) {
  const int64_t batch = query.size(0), cells = query.size(1);
  at::Tensor maps;  // [B, 2, cells, C]
  at::Tensor references =
      bev_cells(config_, query.options()).reshape({1, 1, cells, 2}).expand({batch, 2, -1, -1});
  if (history.previous.defined()) {
    maps = at::stack({history.previous, history.query}, 1);
    const at::Tensor has_previous =
        history.has_previous.to(query.device()).reshape({batch, 1, 1, 1});
    if (!history.has_previous.all().item<bool>()) {
      maps = at::where(has_previous, maps, at::stack({query, query}, 1));
    }
    const at::Tensor shift = history.shift.to(query.options()).reshape({batch, 1, 1, 2});
    references =
        at::cat({references.narrow(1, 0, 1) + shift * has_previous, references.narrow(1, 1, 1)}, 1);
  } else {
    maps = at::stack({query, query}, 1);
  }
  const at::Tensor from = at::cat({maps.select(1, 0), query + position}, -1);
  // The frames beside the samples, and the one level of each: [2B, Q, heads, 1, points, ...].
  const at::Tensor offset = offsets(from).permute({0, 3, 1, 2, 4, 5}).flatten(0, 1).unsqueeze(3);
  const at::Tensor weight =
      at::softmax(weights(from), -1).permute({0, 3, 1, 2, 4}).flatten(0, 1).unsqueeze(3);
  const std::vector<MapSize> levels = {bev_size(config_)};
  const at::Tensor locations =
      references.reshape({2 * batch, cells, 1, 1, 1, 2}) + offset / sides(levels, offset.options());
  const at::Tensor sampled =
      deformable_attention(values(maps.flatten(0, 1)), levels, locations, weight);
  const at::Tensor mean = sampled.reshape({batch, 2, cells, -1}).mean(1);
  return query + dropout_(output_proj_(mean));
}

CameraAttention::CameraAttention(const BevFormerConfig& config)
    : SamplingLayers({.query_dims = config.embed_dims,
                      .dims = config.embed_dims,
                      .heads = config.num_heads,
                      .maps = config.pyramid_levels,
                      .points = config.camera_points}) {}

at::Tensor CameraAttention::forward(const at::Tensor& query, const at::Tensor& maps,
                                    const std::vector<MapSize>& levels, const at::Tensor& points) {
  const int64_t heights = points.size(2);
  const at::Tensor offset = offsets(query) / sides(levels, query.options()).reshape({-1, 1, 2});
  // Point p belongs to height p % heights.
  const at::Tensor locations =
      (offset.unflatten(4, {size_.points / heights, heights}) +
       points.to(offset.scalar_type()).unsqueeze(2).unsqueeze(3).unsqueeze(4))
          .flatten(4, 5);
  const at::Tensor logits = weights(query);
  const at::Tensor weight = at::softmax(logits.flatten(3), -1).view_as(logits);
  return deformable_attention(values(maps), levels, locations, weight);
}

SpatialCrossAttention::SpatialCrossAttention(const BevFormerConfig& config) {
  deformable_attention_ =
      register_module("deformable_attention", std::make_shared<CameraAttention>(config));
  output_proj_ =
      register_module("output_proj", uniform_linear(config.embed_dims, config.embed_dims));
  dropout_ = register_module("dropout", nn::Dropout(config.dropout));
}

at::Tensor SpatialCrossAttention::forward(const at::Tensor& query, const at::Tensor& maps,
                                          const std::vector<MapSize>& levels,
                                          const VisibleCells& cells, const std::string& name,
                                          const Observer& observer) {
  const int64_t batch = query.size(0), num_cells = query.size(1), dims = query.size(2);
  const int64_t cameras = cells.index.size(0) / batch;
  const int64_t places = cells.index.size(1);
  const at::Tensor index = cells.index.reshape({batch, cameras * places, 1}).expand({-1, -1, dims});
  const at::Tensor is_real = cells.is_real.unsqueeze(2);  // [B * cameras, places, 1]
  const at::Tensor queries =
      query.gather(1, index).reshape({batch * cameras, places, dims}) * is_real;
  const at::Tensor seen = deformable_attention_->forward(queries, maps, levels, cells.points);
  if (observer) observer(name + ".sca_deformable", seen);
  // In half precision, what is seen has another type than the query.
  const at::Tensor real = (seen * is_real).to(query.scalar_type());
  const at::Tensor sums =
      at::zeros_like(query).scatter_add(1, index, real.reshape({batch, cameras * places, dims}));
  const at::Tensor mean = sums / cells.count.to(query.scalar_type()).unsqueeze(2);
  return query + dropout_(output_proj_(mean.reshape({batch, num_cells, dims})));
}

BevCrossAttention::BevCrossAttention(const BevFormerConfig& config)
    : SamplingLayers({.query_dims = config.embed_dims,
                      .dims = config.embed_dims,
                      .heads = config.num_heads,
                      .maps = 1,
                      .points = config.decoder_points}),
      bev_size_(bev_size(config)) {
  output_proj_ =
      register_module("output_proj", uniform_linear(config.embed_dims, config.embed_dims));
  dropout_ = register_module("dropout", nn::Dropout(config.dropout));
}

at::Tensor BevCrossAttention::forward(const at::Tensor& query, const at::Tensor& position,
                                      const at::Tensor& bev, const at::Tensor& references) {
  const at::Tensor from = query + position;
  const std::vector<MapSize> levels = {bev_size_};
  const at::Tensor offset = offsets(from);
  const at::Tensor locations =
      references.unsqueeze(2).unsqueeze(3).unsqueeze(4) + offset / sides(levels, offset.options());
  const at::Tensor weight = at::softmax(weights(from), -1);
  return query +
         dropout_(output_proj_(deformable_attention(values(bev), levels, locations, weight)));
}

QuerySelfAttention::QuerySelfAttention(const BevFormerConfig& config)
    : heads_(config.num_heads), dropout_probability_(config.dropout) {
  const int64_t dims = config.embed_dims;
  attn_ = register_module("attn", std::make_shared<nn::Module>());
  in_weight_ = attn_->register_parameter("in_proj_weight", at::empty({3 * dims, dims}));
  in_bias_ = attn_->register_parameter("in_proj_bias", at::empty({3 * dims}));
  out_proj_ = attn_->register_module("out_proj", uniform_linear(dims, dims));
  nn::init::xavier_uniform_(in_weight_);
  nn::init::zeros_(in_bias_);
  dropout_ = register_module("dropout", nn::Dropout(config.dropout));
}

at::Tensor QuerySelfAttention::forward(const at::Tensor& query, const at::Tensor& position) {
  const int64_t dims = query.size(2);
  const std::vector<at::Tensor> weight = in_weight_.split(dims);
  const std::vector<at::Tensor> bias = in_bias_.split(dims);
  const auto project = [&](const at::Tensor& from, size_t i) {
    return at::linear(from, weight[i], bias[i])
        .reshape({query.size(0), query.size(1), heads_, dims / heads_})
        .transpose(1, 2);
  };
  const at::Tensor placed = query + position;
  const at::Tensor attended =
      at::scaled_dot_product_attention(project(placed, 0), project(placed, 1), project(query, 2),
                                       /*attn_mask=*/{}, is_training() ? dropout_probability_ : 0);
  return query + dropout_(out_proj_(attended.transpose(1, 2).flatten(2)));
}

FeedForward::FeedForward(int64_t dims, int64_t hidden, double dropout) {
  dropout_ = nn::Dropout(dropout);
  first_ = uniform_linear(dims, hidden);
  second_ = uniform_linear(hidden, dims);
  // "layers.0.0" and "layers.1": the first layer stands with its activation in a sequence of its
  // own.
  nn::ModuleList inner(first_);
  register_module("layers", nn::ModuleList(inner, second_));
  register_module("dropout", dropout_);
}

at::Tensor FeedForward::forward(const at::Tensor& query) {
  return query + dropout_(second_(dropout_(at::relu(first_(query)))));
}

}  // namespace ffkit
