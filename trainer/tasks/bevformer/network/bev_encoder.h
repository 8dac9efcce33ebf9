// BevEncoder: from the cameras' maps and the BEV of the frame before to the BEV of this frame.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/modulelist.h>

#include <vector>

#include "tasks/bevformer/network/attention.h"
#include "tasks/bevformer/network/bevformer_config.h"
#include "tasks/bevformer/network/observer.h"

namespace ffkit {

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

}  // namespace ffkit
