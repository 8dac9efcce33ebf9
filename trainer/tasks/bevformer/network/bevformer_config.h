// The sizes of a BEVFormer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

struct BevFormerConfig {
  int64_t embed_dims = 256;
  int64_t ffn_dims = 512;
  int64_t num_heads = 8;
  int64_t bev_rows = 50;     // along the lidar's y
  int64_t bev_columns = 50;  // along the lidar's x
  int64_t num_queries = 900;
  int64_t num_classes = 10;
  int64_t num_cameras = 6;
  int64_t encoder_layers = 3;
  int64_t decoder_layers = 6;
  int64_t pillar_points = 4;  // heights at which a cell of the BEV looks into the pictures
  int64_t history_points = 4;
  int64_t camera_points = 8;  // a multiple of pillar_points
  int64_t decoder_points = 4;
  // or resnet18, or resnet101_dcn: with deformable convolutions in its last two stages
  std::string backbone = "resnet50";
  int64_t backbone_width = 64;                 // channels of its stem
  std::vector<int64_t> backbone_stages = {3};  // whose maps the pyramid takes; 0 to 3, ascending
  // At least as many as those; further ones by convolutions of stride 2.
  int64_t pyramid_levels = 1;
  int64_t frozen_stages = 1;  // the stem and so many stages are not trained; -1: all are
  bool frozen_norms = true;   // the backbone's batch norms keep to their running statistics
  std::array<double, 2> rotation_center = {100, 100};               // column and row of the BEV
  std::array<double, 6> range = {-51.2, -51.2, -5, 51.2, 51.2, 3};  // metres: x, y, z from and to
  std::vector<double> code_weights = {1, 1, 1, 1,   1,
                                      1, 1, 1, 0.2, 0.2};  // of the loss of each number of a box
  double dropout = 0.1;
};

// The published sizes, tiny, small and base; and micro, which learns from nothing on a CPU. Throws
// Error(invalid_argument) for another name.
BevFormerConfig bevformer_config(std::string_view name);

}  // namespace ffkit
