// The attentions of BEVFormer. All take and give [B, queries, C], and add what they attend to to
// `query`.
//
// Modules and parameters have the names of the published code. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/deformable_attention.h"
#include "tasks/bevformer/network/bev_geometry.h"
#include "tasks/bevformer/network/bevformer_config.h"

namespace ffkit {

// Observer: sees the tensors inside of a network as they are computed.
//
// Called with the published code's name of a tensor, in its shape there. Empty: nobody looks.
using Observer = std::function<void(const std::string& name, const at::Tensor& value)>;

// The linear layers that deformable attention has: where each query samples, with which weights,
// and what is sampled.
class SamplingLayers : public torch::nn::Module {
 public:
  struct Size {
    int64_t query_dims;  // of what offsets and weights come from
    int64_t dims;        // of the values
    int64_t heads;
    int64_t maps;  // levels, or levels of all frames: each has points of its own
    int64_t points;
  };
  explicit SamplingLayers(const Size& size);

 protected:
  // Offsets in pixels [B, Q, heads, maps, points, 2].
  at::Tensor offsets(const at::Tensor& query);
  // Before softmax, [B, Q, heads, maps, points].
  at::Tensor weights(const at::Tensor& query);
  // [B, S, C] -> [B, S, heads, C / heads]
  at::Tensor values(const at::Tensor& maps);

  const Size size_;

 private:
  torch::nn::Linear sampling_offsets_{nullptr};
  torch::nn::Linear attention_weights_{nullptr};
  torch::nn::Linear value_proj_{nullptr};
};

// The BEV of the frame before, as the next one sees it. What all layers of an encoder share.
struct BevHistory {
  at::Tensor previous;      // [B, cells, C] turned; undefined: no sample has a frame before
  at::Tensor query;         // [B, cells, C] the encoder's input
  at::Tensor shift;         // [B, 2] (x, y), as bev_shift()
  at::Tensor has_previous;  // [B] bool on the CPU; where false, the sample has no frame before
};

// A cell attends to its neighbourhood in this BEV and in that of the frame before; without one,
// twice in this one.
class TemporalSelfAttention : public SamplingLayers {
 public:
  explicit TemporalSelfAttention(const BevFormerConfig& config);
  // `position`: [1, cells, C]
  at::Tensor forward(const at::Tensor& query, const at::Tensor& position,
                     const BevHistory& history);

 private:
  const BevFormerConfig config_;
  torch::nn::Linear output_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

// A cell attends to where its pillar lies in each camera's maps.
class CameraAttention : public SamplingLayers {
 public:
  explicit CameraAttention(const BevFormerConfig& config);
  // query [N, M, C], maps [N, S, C], points [N, M, heights, 2] -> [N, M, C], without adding
  // `query`.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& maps,
                     const std::vector<MapSize>& levels, const at::Tensor& points);
};

// The mean over the cameras that see a cell.
class SpatialCrossAttention : public torch::nn::Module {
 public:
  explicit SpatialCrossAttention(const BevFormerConfig& config);
  // `maps`: [B * cameras, S, C]
  at::Tensor forward(const at::Tensor& query, const at::Tensor& maps,
                     const std::vector<MapSize>& levels, const VisibleCells& cells,
                     const std::string& name, const Observer& observer);

 private:
  std::shared_ptr<CameraAttention> deformable_attention_;
  torch::nn::Linear output_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

// A query attends to the BEV around its reference point.
class BevCrossAttention : public SamplingLayers {
 public:
  explicit BevCrossAttention(const BevFormerConfig& config);
  // `position`: [B, Q, C]; `bev`: [B, cells, C]; `references`: [B, Q, 2] (x, y)
  at::Tensor forward(const at::Tensor& query, const at::Tensor& position, const at::Tensor& bev,
                     const at::Tensor& references);

 private:
  const MapSize bev_size_;
  torch::nn::Linear output_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

// Queries attend to each other (torch.nn.MultiheadAttention, whose parameters stand under "attn").
class QuerySelfAttention : public torch::nn::Module {
 public:
  explicit QuerySelfAttention(const BevFormerConfig& config);
  // Keys and queries are query + position, values are query.
  at::Tensor forward(const at::Tensor& query, const at::Tensor& position);

 private:
  const int64_t heads_;
  const double dropout_probability_;
  std::shared_ptr<torch::nn::Module> attn_;
  at::Tensor in_weight_, in_bias_;
  torch::nn::Linear out_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

// query + W2 relu(W1 query)
class FeedForward : public torch::nn::Module {
 public:
  FeedForward(int64_t dims, int64_t hidden, double dropout);
  at::Tensor forward(const at::Tensor& query);

 private:
  torch::nn::Linear first_{nullptr}, second_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

}  // namespace ffkit
