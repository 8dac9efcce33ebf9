#include "tasks/bevformer/network/bev_geometry.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <numbers>

namespace ffkit {
namespace {

// [n] the middles of n equal parts of 0 .. 1.
at::Tensor middles(int64_t n, const at::TensorOptions& options) {
  return at::linspace(0.5, n - 0.5, n, options) / static_cast<double>(n);
}

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kNearestDepth = 1e-5;  // metres

}  // namespace

at::Tensor bev_cells(const BevFormerConfig& config, const at::TensorOptions& options) {
  const at::Tensor x = middles(config.bev_columns, options);
  const at::Tensor y = middles(config.bev_rows, options);
  return at::stack({x.unsqueeze(0).expand({config.bev_rows, -1}),
                    y.unsqueeze(1).expand({-1, config.bev_columns})},
                   -1)
      .flatten(0, 1);
}

CameraPoints project_pillars(const BevFormerConfig& config, const at::Tensor& lidar2img,
                             const MapSize& picture) {
  const at::TensorOptions options = lidar2img.options();
  const auto& range = config.range;
  const double height = range[5] - range[2];
  const int64_t cells = config.bev_rows * config.bev_columns;
  const at::Tensor flat = bev_cells(config, options)
                              .unsqueeze(1)
                              .expand({-1, config.pillar_points, -1});  // [cells, heights, 2]
  const at::Tensor z = at::linspace(0.5, height - 0.5, config.pillar_points, options) / height;
  const at::Tensor points =
      at::cat({flat.select(2, 0).unsqueeze(2) * (range[3] - range[0]) + range[0],
               flat.select(2, 1).unsqueeze(2) * (range[4] - range[1]) + range[1],
               (z * height + range[2]).reshape({1, -1, 1}).expand({cells, -1, -1}),
               at::ones({cells, config.pillar_points, 1}, options)},
              2)
          .flatten(0, 1);  // [cells * heights, 4]
  const at::Tensor seen =
      at::matmul(lidar2img, points.t())
          .reshape({lidar2img.size(0), lidar2img.size(1), 4, cells, config.pillar_points});
  const at::Tensor depth = seen.select(2, 2);
  const at::Tensor divisor = depth.clamp_min(kNearestDepth);
  const at::Tensor x = seen.select(2, 0) / divisor / static_cast<double>(picture.width);
  const at::Tensor y = seen.select(2, 1) / divisor / static_cast<double>(picture.height);
  return {.points = at::stack({x, y}, -1),
          .visible = (depth > kNearestDepth)
                         .logical_and(x > 0)
                         .logical_and(x < 1)
                         .logical_and(y > 0)
                         .logical_and(y < 1)};
}

VisibleCells visible_cells(const CameraPoints& camera_points) {
  const at::Tensor& points = camera_points.points;
  const int64_t batch = points.size(0), cameras = points.size(1), cells = points.size(2);
  const at::Tensor visible = camera_points.visible.any(-1);  // [B, cameras, cells]
  const at::Tensor each = visible.flatten(0, 1);
  const at::Tensor counts = each.sum(1);
  const int64_t most = counts.max().item<int64_t>();
  VisibleCells out;
  // Visible ones first, in the order of their indices.
  out.index =
      at::argsort(each.logical_not().to(at::kByte), /*stable=*/true, /*dim=*/1).narrow(1, 0, most);
  out.is_real = at::arange(most, counts.options()).unsqueeze(0) < counts.unsqueeze(1);
  const int64_t heights = points.size(3);
  const at::Tensor index =
      out.index.reshape({batch * cameras, most, 1, 1}).expand({-1, -1, heights, 2});
  // What is outside of the picture may be infinite, but not of a cell that fills up, whose place is
  // not looked at.
  out.points =
      points.reshape({batch * cameras, cells, heights, 2})
          .gather(1, index)
          .masked_fill(out.is_real.logical_not().reshape({batch * cameras, most, 1, 1}), 0);
  out.count = visible.sum(1).clamp_min(1).to(points.scalar_type());
  return out;
}

at::Tensor bev_shift(const BevFormerConfig& config, const at::Tensor& can_bus) {
  const double width = config.range[3] - config.range[0];
  const double height = config.range[4] - config.range[1];
  at::Tensor shift = at::empty({can_bus.size(0), 2}, at::kDouble);
  const auto motion = can_bus.accessor<double, 2>();
  auto out = shift.accessor<double, 2>();
  for (int64_t b = 0; b < can_bus.size(0); ++b) {
    const double length = std::hypot(motion[b][0], motion[b][1]);
    const double angle = motion[b][16] - std::atan2(motion[b][1], motion[b][0]);
    out[b][0] = length * std::sin(angle) / width;
    out[b][1] = length * std::cos(angle) / height;
  }
  return shift;
}

at::Tensor rotate_bev(const BevFormerConfig& config, const at::Tensor& bev,
                      const at::Tensor& can_bus) {
  const int64_t rows = config.bev_rows, columns = config.bev_columns;
  const int64_t batch = bev.size(0);
  at::Tensor from = at::empty({batch, rows * columns}, at::kLong);
  auto index = from.accessor<int64_t, 2>();
  const auto motion = can_bus.accessor<double, 2>();
  for (int64_t b = 0; b < batch; ++b) {
    const double t = -motion[b][17] * kDegree;
    const double middle_x = columns / 2.0 - 0.5, middle_y = rows / 2.0 - 0.5;
    // The centre, measured from the middle of the map.
    const double cx = config.rotation_center[0] - columns / 2.0;
    const double cy = config.rotation_center[1] - rows / 2.0;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const double x = j - middle_x - cx;
        const double y = i - middle_y - cy;
        // To the nearest, halves to even.
        const double column = std::nearbyint(std::cos(t) * x + std::sin(t) * y + cx + middle_x);
        const double row = std::nearbyint(-std::sin(t) * x + std::cos(t) * y + cy + middle_y);
        const bool is_inside = column >= 0 && row >= 0 && column < columns && row < rows;
        index[b][i * columns + j] =
            is_inside ? static_cast<int64_t>(row) * columns + static_cast<int64_t>(column) : -1;
      }
    }
  }
  from = from.to(bev.device());
  const at::Tensor turned =
      bev.gather(1, from.clamp_min(0).unsqueeze(2).expand({-1, -1, bev.size(2)}));
  return turned.masked_fill((from < 0).unsqueeze(2), 0);
}

}  // namespace ffkit
