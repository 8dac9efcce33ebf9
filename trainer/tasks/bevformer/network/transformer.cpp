#include "tasks/bevformer/network/transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <memory>
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

// log(x / (1 - x)), with x and 1 - x at least 1e-5.
at::Tensor inverse_sigmoid(const at::Tensor& x) {
  constexpr double kEps = 1e-5;
  const at::Tensor inside = x.clamp(0, 1);
  return at::log(inside.clamp_min(kEps) / (1 - inside).clamp_min(kEps));
}

MapSize bev_size(const BevFormerConfig& config) {
  return {.height = config.bev_rows, .width = config.bev_columns};
}

// The attentions. All take and give [B, queries, C], and add what they attend to to `query`.

// The linear layers that deformable attention has: where each query samples, with which weights,
// and what is sampled.
class SamplingLayers : public nn::Module {
 public:
  // `maps`: levels, or levels of all frames; each has `points` of its own. Offsets and weights come
  // from `query_dims` numbers.
  SamplingLayers(const BevFormerConfig& config, int64_t query_dims, int64_t maps, int64_t points)
      : heads_(config.num_heads), maps_(maps), points_(points) {
    const int64_t all = heads_ * maps * points;
    sampling_offsets_ = register_module("sampling_offsets", nn::Linear(query_dims, 2 * all));
    attention_weights_ = register_module("attention_weights", nn::Linear(query_dims, all));
    value_proj_ =
        register_module("value_proj", uniform_linear(config.embed_dims, config.embed_dims));
    const at::NoGradGuard no_grad;
    // At first the points of a head lie on a ray of its own, 1, 2, ... pixels away (of the square
    // around the query), with equal weights.
    nn::init::zeros_(sampling_offsets_->weight);
    const at::Tensor angles = at::arange(heads_).to(at::kFloat) * (2 * std::numbers::pi / heads_);
    const at::Tensor rays = at::stack({angles.cos(), angles.sin()}, -1);
    const at::Tensor steps = at::arange(1, points + 1).to(at::kFloat).reshape({1, 1, -1, 1});
    const at::Tensor square = rays / rays.abs().amax(-1, /*keepdim=*/true);
    sampling_offsets_->bias.copy_(
        (square.reshape({-1, 1, 1, 2}) * steps).expand({-1, maps, -1, -1}).flatten());
    nn::init::zeros_(attention_weights_->weight);
    nn::init::zeros_(attention_weights_->bias);
  }

 protected:
  // Offsets in pixels [B, Q, heads, maps, points, 2].
  at::Tensor offsets(const at::Tensor& query) {
    return sampling_offsets_(query).unflatten(2, {heads_, maps_, points_, 2});
  }
  // Before softmax, [B, Q, heads, maps, points].
  at::Tensor weights(const at::Tensor& query) {
    return attention_weights_(query).unflatten(2, {heads_, maps_, points_});
  }
  // [B, S, C] -> [B, S, heads, C / heads]
  at::Tensor values(const at::Tensor& maps) { return value_proj_(maps).unflatten(2, {heads_, -1}); }

  const int64_t heads_, maps_, points_;

 private:
  nn::Linear sampling_offsets_{nullptr}, attention_weights_{nullptr}, value_proj_{nullptr};
};

// What all attentions of the BEV end with: `query` and a projection of what it attends to.
struct Projection {
  Projection(nn::Module& owner, const BevFormerConfig& config)
      : linear(owner.register_module("output_proj",
                                     uniform_linear(config.embed_dims, config.embed_dims))),
        dropout(owner.register_module("dropout", nn::Dropout(config.dropout))) {}
  at::Tensor add_to(const at::Tensor& query, const at::Tensor& attended) {
    return query + dropout(linear(attended));
  }

  nn::Linear linear;
  nn::Dropout dropout;
};

// A cell attends to its neighbourhood in this BEV and in that of the frame before; without one,
// twice in this one. Two maps: the frame before, and this one.
class TemporalSelfAttention : public SamplingLayers {
 public:
  explicit TemporalSelfAttention(const BevFormerConfig& config)
      : SamplingLayers(config, 2 * config.embed_dims, 2, config.history_points),
        config_(config),
        projection_(*this, config) {}
  // `position`: [1, cells, C]
  at::Tensor forward(const at::Tensor& query, const at::Tensor& position,
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
      references = at::cat(
          {references.narrow(1, 0, 1) + shift * has_previous, references.narrow(1, 1, 1)}, 1);
    } else {
      maps = at::stack({query, query}, 1);
    }
    const at::Tensor from = at::cat({maps.select(1, 0), query + position}, -1);
    // The frames beside the samples, and the one level of each: [2B, Q, heads, 1, points, ...].
    const at::Tensor offset = offsets(from).permute({0, 3, 1, 2, 4, 5}).flatten(0, 1).unsqueeze(3);
    const at::Tensor weight =
        at::softmax(weights(from), -1).permute({0, 3, 1, 2, 4}).flatten(0, 1).unsqueeze(3);
    const std::vector<MapSize> levels = {bev_size(config_)};
    const at::Tensor locations = references.reshape({2 * batch, cells, 1, 1, 1, 2}) +
                                 offset / sides(levels, offset.options());
    const at::Tensor sampled =
        deformable_attention(values(maps.flatten(0, 1)), levels, locations, weight);
    const at::Tensor mean = sampled.reshape({batch, 2, cells, -1}).mean(1);
    return projection_.add_to(query, mean);
  }

 private:
  const BevFormerConfig config_;
  Projection projection_;
};

// A cell attends to where its pillar lies in each camera's maps.
class CameraAttention : public SamplingLayers {
 public:
  explicit CameraAttention(const BevFormerConfig& config)
      : SamplingLayers(config, config.embed_dims, config.pyramid_levels, config.camera_points) {}
  // query [N, M, C], maps [N, S, C], points [N, M, heights, 2] -> [N, M, C], without adding
  // `query`.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& maps,
                     const std::vector<MapSize>& levels, const at::Tensor& points) {
    const int64_t heights = points.size(2);
    const at::Tensor offset = offsets(query) / sides(levels, query.options()).reshape({-1, 1, 2});
    // Point p belongs to height p % heights.
    const at::Tensor locations =
        (offset.unflatten(4, {points_ / heights, heights}) +
         points.to(offset.scalar_type()).unsqueeze(2).unsqueeze(3).unsqueeze(4))
            .flatten(4, 5);
    const at::Tensor logits = weights(query);
    const at::Tensor weight = at::softmax(logits.flatten(3), -1).view_as(logits);
    return deformable_attention(values(maps), levels, locations, weight);
  }
};

// The mean over the cameras that see a cell.
class SpatialCrossAttention : public nn::Module {
 public:
  explicit SpatialCrossAttention(const BevFormerConfig& config)
      : deformable_attention_(
            register_module("deformable_attention", std::make_shared<CameraAttention>(config))),
        projection_(*this, config) {}
  // `maps`: [B * cameras, S, C]
  at::Tensor forward(const at::Tensor& query, const at::Tensor& maps,
                     const std::vector<MapSize>& levels, const VisibleCells& cells,
                     const std::string& name, const Observer& observer) {
    const int64_t batch = query.size(0), num_cells = query.size(1), dims = query.size(2);
    const int64_t cameras = cells.index.size(0) / batch;
    const int64_t places = cells.index.size(1);
    const at::Tensor index =
        cells.index.reshape({batch, cameras * places, 1}).expand({-1, -1, dims});
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
    return projection_.add_to(query, mean.reshape({batch, num_cells, dims}));
  }

 private:
  const std::shared_ptr<CameraAttention> deformable_attention_;
  Projection projection_;
};

// A query attends to the BEV around its reference point.
class BevCrossAttention : public SamplingLayers {
 public:
  explicit BevCrossAttention(const BevFormerConfig& config)
      : SamplingLayers(config, config.embed_dims, 1, config.decoder_points),
        bev_size_(bev_size(config)),
        projection_(*this, config) {}
  // `position`: [B, Q, C]; `bev`: [B, cells, C]; `references`: [B, Q, 2] (x, y)
  at::Tensor forward(const at::Tensor& query, const at::Tensor& position, const at::Tensor& bev,
                     const at::Tensor& references) {
    const at::Tensor from = query + position;
    const std::vector<MapSize> levels = {bev_size_};
    const at::Tensor offset = offsets(from);
    const at::Tensor locations = references.unsqueeze(2).unsqueeze(3).unsqueeze(4) +
                                 offset / sides(levels, offset.options());
    const at::Tensor weight = at::softmax(weights(from), -1);
    return projection_.add_to(query, deformable_attention(values(bev), levels, locations, weight));
  }

 private:
  const MapSize bev_size_;
  Projection projection_;
};

// Queries attend to each other (torch.nn.MultiheadAttention, whose parameters stand under "attn").
class QuerySelfAttention : public nn::Module {
 public:
  explicit QuerySelfAttention(const BevFormerConfig& config)
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
  // Keys and queries are query + position, values are query.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& position) {
    const int64_t dims = query.size(2);
    const std::vector<at::Tensor> weight = in_weight_.split(dims);
    const std::vector<at::Tensor> bias = in_bias_.split(dims);
    const auto project = [&](const at::Tensor& from, size_t i) {
      return at::linear(from, weight[i], bias[i])
          .reshape({query.size(0), query.size(1), heads_, dims / heads_})
          .transpose(1, 2);
    };
    const at::Tensor placed = query + position;
    const at::Tensor attended = at::scaled_dot_product_attention(
        project(placed, 0), project(placed, 1), project(query, 2),
        /*attn_mask=*/{}, is_training() ? dropout_probability_ : 0);
    return query + dropout_(out_proj_(attended.transpose(1, 2).flatten(2)));
  }

 private:
  const int64_t heads_;
  const double dropout_probability_;
  std::shared_ptr<nn::Module> attn_;
  at::Tensor in_weight_, in_bias_;
  nn::Linear out_proj_{nullptr};
  nn::Dropout dropout_{nullptr};
};

// query + W2 relu(W1 query)
class FeedForward : public nn::Module {
 public:
  FeedForward(int64_t dims, int64_t hidden, double dropout) {
    dropout_ = nn::Dropout(dropout);
    first_ = uniform_linear(dims, hidden);
    second_ = uniform_linear(hidden, dims);
    // "layers.0.0" and "layers.1": the first layer stands with its activation in a sequence of its
    // own.
    nn::ModuleList inner(first_);
    register_module("layers", nn::ModuleList(inner, second_));
    register_module("dropout", dropout_);
  }
  at::Tensor forward(const at::Tensor& query) {
    return query + dropout_(second_(dropout_(at::relu(first_(query)))));
  }

 private:
  nn::Linear first_{nullptr}, second_{nullptr};
  nn::Dropout dropout_{nullptr};
};

// AttentionLayer: what a layer of the encoder and one of the decoder consist of: two attentions and
// a feed-forward network, a layer norm behind each. Who has it calls them in order.
template <typename SelfAttention, typename CrossAttention>
struct AttentionLayer : nn::Module {
  explicit AttentionLayer(const BevFormerConfig& config)
      : self_attention(std::make_shared<SelfAttention>(config)),
        cross_attention(std::make_shared<CrossAttention>(config)),
        feed_forward(
            std::make_shared<FeedForward>(config.embed_dims, config.ffn_dims, config.dropout)) {
    register_module("attentions", nn::ModuleList(self_attention, cross_attention));
    register_module("ffns", nn::ModuleList(feed_forward));
    norms_ = register_module("norms", nn::ModuleList());
    for (int i = 0; i < 3; ++i) {
      norms_->push_back(nn::LayerNorm(nn::LayerNormOptions({config.embed_dims})));
    }
  }

  at::Tensor norm(size_t i, const at::Tensor& x) {
    return norms_->ptr<nn::LayerNormImpl>(i)->forward(x);
  }

  const std::shared_ptr<SelfAttention> self_attention;
  const std::shared_ptr<CrossAttention> cross_attention;
  const std::shared_ptr<FeedForward> feed_forward;

 private:
  nn::ModuleList norms_;
};

using EncoderLayer = AttentionLayer<TemporalSelfAttention, SpatialCrossAttention>;
using DecoderLayer = AttentionLayer<QuerySelfAttention, BevCrossAttention>;

}  // namespace

BevEncoder::BevEncoder(const BevFormerConfig& config) {
  layers_ = register_module("layers", nn::ModuleList());
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

BoxDecoder::BoxDecoder(const BevFormerConfig& config) {
  layers_ = register_module("layers", nn::ModuleList());
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    layers_->push_back(std::make_shared<DecoderLayer>(config));
  }
}

BoxDecoder::Output BoxDecoder::forward(
    const at::Tensor& bev, at::Tensor query, const at::Tensor& position, at::Tensor references,
    const std::function<at::Tensor(size_t layer, const at::Tensor& states)>& regress,
    const Observer& observer) {
  Output out;
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
    out.boxes.push_back(regress(i, query));
    const at::Tensor& step = out.boxes.back();
    out.middles.push_back(
        (at::cat({step.narrow(-1, 0, 2), step.narrow(-1, 4, 1)}, -1) + inverse_sigmoid(references))
            .sigmoid());
    references = out.middles.back().detach();
  }
  if (observer) observer("decoder.inter_references", at::stack(out.middles).detach());
  return out;
}

}  // namespace ffkit
