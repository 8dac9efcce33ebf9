// The two halves of BEVFormer's transformer.
//
// Modules and parameters have the names of the published code. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/modulelist.h>

#include <functional>
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

// The BEV of the frame before, as the next one sees it. What all layers of an encoder share.
struct BevHistory {
  at::Tensor previous;      // [B, cells, C] turned; undefined: no sample has a frame before
  at::Tensor query;         // [B, cells, C] the encoder's input
  at::Tensor shift;         // [B, 2] (x, y), as bev_shift()
  at::Tensor has_previous;  // [B] bool on the CPU; where false, the sample has no frame before
};

// BevEncoder: from the cameras' maps and the BEV of the frame before to the BEV of this frame.
class BevEncoder : public torch::nn::Module {
 public:
  explicit BevEncoder(const BevFormerConfig& config);

  // history.query [B, cells, C] is the input. `position`: [1, cells, C]; `maps`: [B * cameras, S,
  // C], the levels one after the other. Returns [B, cells, C].
  at::Tensor forward(const BevHistory& history, const at::Tensor& position, const at::Tensor& maps,
                     const std::vector<MapSize>& levels, const VisibleCells& cells,
                     const Observer& observer);

 private:
  torch::nn::ModuleList layers_;
};

// BoxDecoder: queries that look at the BEV; after each layer, where they see a box is refined.
class BoxDecoder : public torch::nn::Module {
 public:
  explicit BoxDecoder(const BevFormerConfig& config);

  struct Output {
    std::vector<at::Tensor> states;   // of each layer, [B, Q, C]
    std::vector<at::Tensor> boxes;    // what `regress` gives for each layer's states
    std::vector<at::Tensor> middles;  // of these boxes, [B, Q, 3], 0 .. 1 of the range
  };
  // `bev`: [B, cells, C]; queries and their position [B, Q, C]; `references`: [B, Q, 3].
  // `regress(layer, states)` gives [B, Q, 10], of which 0, 1 and 4 are steps of x, y and z before
  // the sigmoid.
  Output forward(const at::Tensor& bev, at::Tensor query, const at::Tensor& position,
                 at::Tensor references,
                 const std::function<at::Tensor(size_t layer, const at::Tensor& states)>& regress,
                 const Observer& observer);

 private:
  torch::nn::ModuleList layers_;
};

}  // namespace ffkit
