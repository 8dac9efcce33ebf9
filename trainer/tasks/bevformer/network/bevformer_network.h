// The network of BEVFormer.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>

#include <memory>
#include <vector>

#include "models/blocks/layers.h"
#include "tasks/bevformer/network/bevformer_config.h"
#include "tasks/bevformer/network/transformer.h"

namespace ffkit {

// One moment of B scenes.
struct BevFrame {
  at::Tensor images;  // [B, cameras, 3, H, W], normalised and padded
  // [B, cameras, 4, 4] f64: metres of the lidar's frame to pixels of `images`, times depth
  at::Tensor lidar2img;
  at::Tensor can_bus;       // [B, 18] f64 on the CPU, motion as differences to the frame before
  at::Tensor has_previous;  // [B] bool on the CPU: whether it follows the frame before
};

struct BevDetections {
  at::Tensor logits;  // [decoder layers, B, queries, classes]
  // [decoder layers, B, queries, 10]: x, y, log width, log length, z of the middle, log height, sin
  // and cos of the yaw, velocity x and y
  at::Tensor boxes;
  at::Tensor bev;  // [B, cells, C]
};

// BevFormerNetwork: from the pictures of six cameras, now and before, to boxes in the lidar's
// frame.
//
// Parameters and buffers have the names of the published code. Not thread-safe.
class BevFormerNetwork : public torch::nn::Module {
 public:
  // Draws the initial weights. Throws Error(invalid_argument) for sizes that do not fit together.
  explicit BevFormerNetwork(const BevFormerConfig& config);

  const BevFormerConfig& config() const { return config_; }
  // Its tensors have the names of a ResNet.
  std::shared_ptr<torch::nn::Module> backbone() const;
  // As ResNetBody::set_recompute(), which needs BevFormerConfig::frozen_norms.
  void set_recompute(bool on);

  // Detections in the last of `frames`; those before give its history, without gradients and
  // without dropout.
  BevDetections forward(const std::vector<BevFrame>& frames, const Observer& observer = {});
  // Detections in one frame. `previous`: BevDetections::bev of the frame before, undefined for
  // none.
  BevDetections detect(const BevFrame& frame, const at::Tensor& previous,
                       const Observer& observer = {});

  // With BevFormerConfig::frozen_norms, the backbone's batch norms keep to their running
  // statistics.
  void train(bool on = true) override;

 private:
  struct Backbone;
  struct FeaturePyramid;
  struct Transformer;
  struct PositionalEncoding;
  struct Head;

  at::Tensor make_bev(const BevFrame& frame, const at::Tensor& previous, const Observer& observer);
  void check(const BevFrame& frame) const;

  const BevFormerConfig config_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<FeaturePyramid> pyramid_;
  std::shared_ptr<Head> head_;
};

}  // namespace ffkit
