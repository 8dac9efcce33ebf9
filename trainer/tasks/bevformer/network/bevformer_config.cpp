#include "tasks/bevformer/network/bevformer_config.h"

#include "base/make_error.h"

namespace ffkit {

// projects/configs/bevformer/bevformer_{tiny,small,base}.py of fundamentalvision/BEVFormer.
BevFormerConfig bevformer_config(std::string_view name) {
  BevFormerConfig config;  // tiny
  if (name == "tiny") return config;
  if (name == "micro") {
    config.embed_dims = 64;
    config.ffn_dims = 128;
    config.num_heads = 4;
    config.bev_rows = config.bev_columns = 32;
    config.num_queries = 60;
    config.encoder_layers = 2;
    config.decoder_layers = 3;
    config.backbone = "resnet18";
    config.backbone_width = 32;
    config.backbone_stages = {2, 3};
    config.pyramid_levels = 2;
    config.frozen_stages = -1;
    config.frozen_norms = false;
    config.rotation_center = {16, 16};
    config.dropout = 0;
    return config;
  }
  config.backbone = "resnet101_dcn";
  if (name == "small") {
    config.bev_rows = config.bev_columns = 150;
    return config;
  }
  if (name == "base") {
    config.bev_rows = config.bev_columns = 200;
    config.encoder_layers = 6;
    config.backbone_stages = {1, 2, 3};
    config.pyramid_levels = 4;
    return config;
  }
  throw error_of(ErrorCode::invalid_argument,
                 "unknown BEVFormer '{}'; expected one of tiny, small, base and micro", name);
}

}  // namespace ffkit
