// The places of the cells of a bird's-eye view (BEV) in the cameras' pictures, and in the BEV of
// the frame before.
//
// A cell's index is row * columns + column; columns run along the lidar's x, rows along its y.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/deformable_attention.h"
#include "tasks/bevformer/network/bevformer_config.h"

namespace ffkit {

// [rows * columns, 2] the middle of each cell as (x, y), 0 .. 1 of the BEV's sides.
at::Tensor bev_cells(const BevFormerConfig& config, const at::TensorOptions& options);

// What of the BEV a picture shows.
struct CameraPoints {
  // [B, cameras, cells, heights, 2] (x, y), 0 .. 1 of the padded picture's sides.
  at::Tensor points;
  // [B, cameras, cells, heights] bool: in front of the camera and inside of the picture
  at::Tensor visible;
};

// `lidar2img`: [B, cameras, 4, 4], from metres of the lidar's frame to pixels times depth. Computed
// in the type of `lidar2img`.
CameraPoints project_pillars(const BevFormerConfig& config, const at::Tensor& lidar2img,
                             const MapSize& picture);

// The cells that a camera sees, put together: attention looks at these alone.
struct VisibleCells {
  // [B * cameras, M] i64 cell of each place; M is the largest number of visible ones.
  at::Tensor index;
  at::Tensor is_real;  // [B * cameras, M] bool: false for what only fills up
  at::Tensor points;   // [B * cameras, M, heights, 2]; 0 for what only fills up
  // [B, cells] how many cameras see the cell, at least 1, in the type of `points`.
  at::Tensor count;
};
VisibleCells visible_cells(const CameraPoints& camera_points);

// How far the ego moved from the frame before to this one, as a share of the BEV's sides: [B, 2]
// (x, y) f64 on the CPU. `can_bus`: [B, 18] f64 on the CPU; 0 and 1 are metres moved along the axes
// of the global frame, 16 is the ego's yaw in radians.
at::Tensor bev_shift(const BevFormerConfig& config, const at::Tensor& can_bus);

// The BEV of the frame before, [B, cells, C], turned by can_bus[17] degrees about
// config.rotation_center; the nearest cell, 0 outside. As torchvision's rotate() with its default
// interpolation, at pixel centres.
at::Tensor rotate_bev(const BevFormerConfig& config, const at::Tensor& bev,
                      const at::Tensor& can_bus);

}  // namespace ffkit
