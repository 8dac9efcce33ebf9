#include "tasks/bevformer/network/bevformer_network.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>

#include <ffkit/base/error.h>

#include "models/blocks/resnet_body.h"
#include "ops/deformable_conv.h"

namespace ffkit {
namespace {

// Its parameters are named "conv.weight" and "conv.bias", as those of MMCV's ConvModule.
struct PyramidConv : torch::nn::Module {
  PyramidConv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    conv = register_module(
        "conv", torch::nn::Conv2d(
                    torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2)));
    torch::nn::init::xavier_uniform_(conv->weight);
    torch::nn::init::zeros_(conv->bias);
  }
  at::Tensor forward(const at::Tensor& x) { return conv(x); }

  torch::nn::Conv2d conv{nullptr};
};

}  // namespace

// Maps of one number of channels from those of a backbone (Lin et al., "Feature Pyramid Networks
// for Object Detection", 2017).
struct BevFormerNetwork::FeaturePyramid : torch::nn::Module {
  // `in`: channels of each map, from the finest on. More `levels` than that: each further one is a
  // convolution of stride 2 on the one before, after a ReLU from the second of them on.
  FeaturePyramid(const std::vector<int64_t>& in, int64_t out, int64_t levels) {
    lateral_ = register_module("lateral_convs", torch::nn::ModuleList());
    output_ = register_module("fpn_convs", torch::nn::ModuleList());
    for (const int64_t channels : in) {
      lateral_->push_back(std::make_shared<PyramidConv>(channels, out, 1, 1));
    }
    for (int64_t i = 0; i < levels; ++i) {
      const bool is_further = i >= std::ssize(in);
      output_->push_back(std::make_shared<PyramidConv>(out, out, 3, is_further ? 2 : 1));
    }
  }

  // [N, in[i], h, w] each, a map half as large as the one before -> `levels` maps [N, out, h, w].
  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& maps) {
    std::vector<at::Tensor> sums;
    for (size_t i = 0; i < maps.size(); ++i) {
      sums.push_back(lateral_->ptr<PyramidConv>(i)->forward(maps[i]));
    }
    for (size_t i = sums.size() - 1; i > 0; --i) {
      const at::Tensor& finer = sums[i - 1];
      sums[i - 1] = finer + at::upsample_nearest2d(sums[i], finer.sizes().slice(2));
    }
    std::vector<at::Tensor> out;
    for (size_t i = 0; i < output_->size(); ++i) {
      const bool is_further = i >= sums.size();
      const at::Tensor from = !is_further        ? sums[i]
                              : i == sums.size() ? out.back()
                                                 : at::relu(out.back());
      out.push_back(output_->ptr<PyramidConv>(i)->forward(from));
    }
    return out;
  }

  torch::nn::ModuleList lateral_, output_;
};

namespace {

namespace nn = torch::nn;

[[noreturn]] void refuse_config(const std::string& reason) {
  throw Error(ErrorCode::invalid_argument, "BEVFormer: " + reason);
}

ResNetConfig backbone_config(const BevFormerConfig& config) {
  const int64_t width = config.backbone_width;
  if (config.backbone == "resnet18") {
    return {.depths = {2, 2, 2, 2}, .has_bottlenecks = false, .first_width = width};
  }
  if (config.backbone == "resnet50") return {.depths = {3, 4, 6, 3}, .first_width = width};
  if (config.backbone == "resnet101_dcn") {
    return {.depths = {3, 4, 23, 3},
            .first_width = width,
            .strides_first = true,
            .is_deformable = {false, false, true, true}};
  }
  refuse_config(fmt::format(
      "unknown backbone '{}'; expected one of resnet18, resnet50, resnet101_dcn", config.backbone));
}

void check_config(const BevFormerConfig& c) {
  if (c.embed_dims < 1 || c.num_heads < 1 || c.embed_dims % c.num_heads != 0 ||
      c.embed_dims % 2 != 0) {
    refuse_config(fmt::format("the embedding size, {}, must be even and a multiple of the {} heads",
                              c.embed_dims, c.num_heads));
  }
  if (c.pillar_points < 1 || c.camera_points % c.pillar_points != 0) {
    refuse_config(fmt::format("{} points in a camera must be a multiple of the {} heights",
                              c.camera_points, c.pillar_points));
  }
  if (c.backbone_stages.empty() || c.pyramid_levels < std::ssize(c.backbone_stages)) {
    refuse_config("the pyramid needs a level for each of 1 or more maps of the backbone");
  }
  for (size_t i = 0; i < c.backbone_stages.size(); ++i) {
    const int64_t stage = c.backbone_stages[i];
    if (stage < 0 || stage > 3 || (i > 0 && stage <= c.backbone_stages[i - 1])) {
      refuse_config("stages of the backbone must be 0 to 3, in ascending order");
    }
  }
  if (c.code_weights.size() != 10) refuse_config("expected 10 code weights");
}

// The published code has at least four of them, whatever the pyramid has.
int64_t num_level_embeds(const BevFormerConfig& config) {
  return std::max<int64_t>(4, config.pyramid_levels);
}

// Linear layers with ReLU between them and, with `has_norms`, a layer norm before it.
std::shared_ptr<Chain> branch(int64_t dims, int64_t out, bool has_norms) {
  auto chain = std::make_shared<Chain>();
  for (int i = 0; i < 2; ++i) {
    chain->add(nn::Linear(dims, dims));
    if (has_norms) chain->add(nn::LayerNorm(nn::LayerNormOptions({dims})));
    chain->add(relu);
  }
  chain->add(nn::Linear(dims, out));
  return chain;
}

}  // namespace

struct BevFormerNetwork::Backbone : nn::Module {
  explicit Backbone(const BevFormerConfig& config)
      : body(*this, backbone_config(config)), has_frozen_norms(config.frozen_norms) {
    initialise_convolutions(*this);
    for (const std::shared_ptr<nn::Module>& module : modules(/*include_self=*/false)) {
      if (auto* conv = module->as<DeformableConv>()) conv->reset();
    }
    for (const auto& parameter : named_parameters()) {
      const std::string& name = parameter.key();
      const bool is_norm = parameter.value().dim() == 1 && !name.ends_with(".conv_offset.bias");
      if ((is_norm && has_frozen_norms) ||
          (config.frozen_stages >= 0 &&
           (!name.starts_with("layer") /*the stem*/ || name[5] - '0' <= config.frozen_stages))) {
        parameter.value().set_requires_grad(false);
      }
    }
  }

  void train(bool on) override { nn::Module::train(on && !has_frozen_norms); }

  ResNetBody body;
  const bool has_frozen_norms;
};

// A learned number for each row and each column (MMDetection's LearnedPositionalEncoding).
struct BevFormerNetwork::PositionalEncoding : nn::Module {
  explicit PositionalEncoding(const BevFormerConfig& config)
      : row_embed(config.bev_rows, config.embed_dims / 2),
        col_embed(config.bev_columns, config.embed_dims / 2) {
    register_module("row_embed", row_embed);
    register_module("col_embed", col_embed);
    nn::init::uniform_(row_embed->weight);
    nn::init::uniform_(col_embed->weight);
  }

  // [1, cells, C]
  at::Tensor forward() const {
    const at::Tensor& rows = row_embed->weight;
    const at::Tensor& columns = col_embed->weight;
    return at::cat({columns.unsqueeze(0).expand({rows.size(0), -1, -1}),
                    rows.unsqueeze(1).expand({-1, columns.size(0), -1})},
                   -1)
        .flatten(0, 1)
        .unsqueeze(0);
  }

  nn::Embedding row_embed, col_embed;
};

struct BevFormerNetwork::Transformer : nn::Module {
  explicit Transformer(const BevFormerConfig& config) {
    const int64_t dims = config.embed_dims;
    level_embeds = register_parameter("level_embeds", at::empty({num_level_embeds(config), dims}));
    cams_embeds = register_parameter("cams_embeds", at::empty({config.num_cameras, dims}));
    nn::init::normal_(level_embeds);
    nn::init::normal_(cams_embeds);
    encoder = register_module("encoder", std::make_shared<BevEncoder>(config));
    decoder = register_module("decoder", std::make_shared<BoxDecoder>(config));
    reference_points = register_module("reference_points", nn::Linear(dims, 3));
    nn::Linear first(18, dims / 2), second(dims / 2, dims);
    for (const nn::Linear& layer : {reference_points, first, second}) {
      nn::init::xavier_uniform_(layer->weight);
      nn::init::zeros_(layer->bias);
    }
    can_bus_mlp = std::make_shared<Chain>();
    can_bus_mlp->add(first);
    can_bus_mlp->add(relu);
    can_bus_mlp->add(second);
    can_bus_mlp->add(relu);
    can_bus_mlp->add("norm", nn::LayerNorm(nn::LayerNormOptions({dims})).ptr());
    register_module("can_bus_mlp", can_bus_mlp);
  }

  at::Tensor level_embeds, cams_embeds;
  std::shared_ptr<BevEncoder> encoder;
  std::shared_ptr<BoxDecoder> decoder;
  nn::Linear reference_points{nullptr};
  std::shared_ptr<Chain> can_bus_mlp;
};

struct BevFormerNetwork::Head : nn::Module {
  explicit Head(const BevFormerConfig& config)
      : bev_embedding(config.bev_rows * config.bev_columns, config.embed_dims),
        query_embedding(config.num_queries, 2 * config.embed_dims) {
    const int64_t dims = config.embed_dims;
    positional_encoding =
        register_module("positional_encoding", std::make_shared<PositionalEncoding>(config));
    transformer = register_module("transformer", std::make_shared<Transformer>(config));
    class_branches = register_module("cls_branches", nn::ModuleList());
    box_branches = register_module("reg_branches", nn::ModuleList());
    for (int64_t i = 0; i < config.decoder_layers; ++i) {
      class_branches->push_back(branch(dims, config.num_classes, true));
      box_branches->push_back(branch(dims, 10, false));
      // At first, every class has the probability 0.01.
      nn::init::constant_(
          class_branches->ptr(class_branches->size() - 1)->named_parameters()["6.bias"],
          -std::log(0.99 / 0.01));
    }
    register_module("bev_embedding", bev_embedding);
    register_module("query_embedding", query_embedding);
    // Not trained; the published checkpoints have it.
    register_parameter("code_weights", at::tensor(config.code_weights).to(at::kFloat),
                       /*requires_grad=*/false);
  }

  std::shared_ptr<PositionalEncoding> positional_encoding;
  std::shared_ptr<Transformer> transformer;
  nn::ModuleList class_branches, box_branches;
  nn::Embedding bev_embedding, query_embedding;
};

BevFormerNetwork::BevFormerNetwork(const BevFormerConfig& config) : config_(config) {
  check_config(config);
  backbone_ = register_module("img_backbone", std::make_shared<Backbone>(config));
  std::vector<int64_t> channels;
  for (const int64_t stage : config.backbone_stages) {
    channels.push_back(backbone_->body.channels(stage));
  }
  pyramid_ = register_module("img_neck", std::make_shared<FeaturePyramid>(
                                             channels, config.embed_dims, config.pyramid_levels));
  head_ = register_module("pts_bbox_head", std::make_shared<Head>(config));
}

std::shared_ptr<torch::nn::Module> BevFormerNetwork::backbone() const {
  return backbone_;
}

void BevFormerNetwork::set_recompute(bool on) {
  backbone_->body.set_recompute(on);
}

void BevFormerNetwork::train(bool on) {
  nn::Module::train(on);
  backbone_->train(on);
}

void BevFormerNetwork::check(const BevFrame& frame) const {
  const at::Tensor& images = frame.images;
  if (images.dim() != 5 || images.size(1) != config_.num_cameras || images.size(2) != 3) {
    refuse_config(fmt::format("pictures are not [B, {}, 3, H, W]", config_.num_cameras));
  }
  const int64_t batch = images.size(0);
  if (frame.lidar2img.sizes() != at::IntArrayRef({batch, config_.num_cameras, 4, 4})) {
    refuse_config("expected a matrix of 4 x 4 for each picture");
  }
  if (frame.can_bus.sizes() != at::IntArrayRef({batch, 18})) {
    refuse_config("expected 18 numbers of motion for each sample");
  }
}

at::Tensor BevFormerNetwork::make_bev(const BevFrame& frame, const at::Tensor& previous,
                                      const Observer& observer) {
  check(frame);
  const auto observe = [&](const std::string& name, const at::Tensor& value) {
    if (observer) observer(name, value);
  };
  Head& head = *head_;
  Transformer& transformer = *head.transformer;
  const int64_t batch = frame.images.size(0), cameras = config_.num_cameras;
  const std::array<at::Tensor, 4> stages = backbone_->body.forward(frame.images.flatten(0, 1));
  std::vector<at::Tensor> maps;
  for (const int64_t stage : config_.backbone_stages) {
    maps.push_back(stages[stage]);
    observe(fmt::format("img_backbone.out.{}", maps.size() - 1), maps.back());
  }
  maps = pyramid_->forward(maps);
  std::vector<at::Tensor> flat;
  std::vector<MapSize> levels;
  for (size_t i = 0; i < maps.size(); ++i) {
    observe(fmt::format("img_neck.out.{}", i), maps[i]);
    levels.push_back({.height = maps[i].size(2), .width = maps[i].size(3)});
    // [B, cameras, pixels, C]
    flat.push_back(maps[i].flatten(2).transpose(1, 2).unflatten(0, {batch, cameras}) +
                   transformer.cams_embeds.unsqueeze(1) +
                   transformer.level_embeds[static_cast<int64_t>(i)]);
  }
  const at::Tensor features = at::cat(flat, 2).flatten(0, 1);
  // Queries (cells) or pixels before samples, as the published code has them.
  observe("encoder.in_feat", features.unsqueeze(2));

  const at::Tensor& cells = head.bev_embedding->weight;
  const at::Tensor motion = transformer.can_bus_mlp->forward(frame.can_bus.to(cells.options()));
  observe("can_bus_mlp", motion);
  const at::Tensor position = head.positional_encoding->forward();
  observe("bev_pos",
          position.transpose(1, 2).unflatten(2, {config_.bev_rows, config_.bev_columns}));
  BevHistory history;
  history.query = cells.unsqueeze(0) + motion.unsqueeze(1);
  observe("encoder.in_query", history.query.transpose(0, 1));
  history.shift = bev_shift(config_, frame.can_bus);
  observe("shift", history.shift);
  history.has_previous = frame.has_previous;
  if (previous.defined() && frame.has_previous.any().item<bool>()) {
    observe("prev_bev", previous);
    history.previous = rotate_bev(config_, previous, frame.can_bus);
    observe("prev_bev_rotated", history.previous.transpose(0, 1));
  }
  const auto exact = cells.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const CameraPoints points =
      project_pillars(config_, frame.lidar2img.to(cells.device(), exact),
                      {.height = frame.images.size(3), .width = frame.images.size(4)});
  observe("reference_points_cam", points.points.transpose(0, 1));
  observe("bev_mask", points.visible.transpose(0, 1));
  return transformer.encoder->forward(history, position, features, levels, visible_cells(points),
                                      observer);
}

BevDetections BevFormerNetwork::detect(const BevFrame& frame, const at::Tensor& previous,
                                       const Observer& observer) {
  BevDetections out;
  out.bev = make_bev(frame, previous, observer);
  Head& head = *head_;
  const std::vector<at::Tensor> queries = head.query_embedding->weight.unsqueeze(0)
                                              .expand({out.bev.size(0), -1, -1})
                                              .split(config_.embed_dims, 2);
  const at::Tensor references = head.transformer->reference_points(queries[0]).sigmoid();
  if (observer) {
    observer("bev_embed", out.bev.transpose(0, 1));
    observer("decoder.init_reference", references);
  }
  const BoxDecoder::Output decoded = head.transformer->decoder->forward(
      out.bev, queries[1], queries[0], references,
      [&head](size_t layer, const at::Tensor& states) {
        return head.box_branches->ptr<Chain>(layer)->forward(states);
      },
      observer);
  std::vector<at::Tensor> logits, boxes;
  const auto& range = config_.range;
  const at::Tensor low = at::tensor({range[0], range[1], range[2]}).to(references.options());
  const at::Tensor high = at::tensor({range[3], range[4], range[5]}).to(references.options());
  for (size_t i = 0; i < decoded.states.size(); ++i) {
    logits.push_back(head.class_branches->ptr<Chain>(i)->forward(decoded.states[i]));
    const at::Tensor& step = decoded.boxes[i];
    const at::Tensor middle = decoded.middles[i] * (high - low) + low;
    boxes.push_back(at::cat({middle.narrow(-1, 0, 2), step.narrow(-1, 2, 2),
                             middle.narrow(-1, 2, 1), step.narrow(-1, 5, 5)},
                            -1));
  }
  out.logits = at::stack(logits);
  out.boxes = at::stack(boxes);
  if (observer) {
    observer("all_cls_scores", out.logits);
    observer("all_bbox_preds", out.boxes);
  }
  return out;
}

BevDetections BevFormerNetwork::forward(const std::vector<BevFrame>& frames,
                                        const Observer& observer) {
  if (frames.empty()) refuse_config("expected 1 or more frames");
  at::Tensor previous;
  if (frames.size() > 1) {
    const at::NoGradGuard no_grad;
    const bool was_training = is_training();
    train(false);
    for (size_t i = 0; i + 1 < frames.size(); ++i) previous = make_bev(frames[i], previous, {});
    train(was_training);
  }
  return detect(frames.back(), previous, observer);
}

}  // namespace ffkit
