#include "ops/deformable_value_gradient.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace ffkit {

at::Tensor deformable_value_gradient(const at::Tensor& value, const std::vector<MapSize>& levels,
                                     const at::Tensor& locations, const at::Tensor& weights,
                                     const at::Tensor& out_gradient) {
  const int64_t batch = value.size(0), pixels = value.size(1), heads = value.size(2);
  const int64_t dims = value.size(3), queries = weights.size(1), points = weights.size(4);
  const at::Tensor given =
      out_gradient.to(weights.scalar_type()).view({batch, queries, heads, dims});
  at::Tensor sum = at::zeros({batch * pixels * heads, dims}, weights.options());
  // Of pixel 0, for each sample and head: [B, 1, H].
  const auto index_options = weights.options().dtype(at::kLong);
  const at::Tensor first_rows = at::arange(batch, index_options).view({-1, 1, 1}) * pixels * heads +
                                at::arange(heads, index_options);
  int64_t first = 0;
  for (size_t l = 0; l < levels.size(); ++l) {
    const auto [height, width] = levels[l];
    for (int64_t p = 0; p < points; ++p) {
      const auto level = static_cast<int64_t>(l);
      const at::Tensor at_point = locations.select(3, level).select(3, p);  // [B, Q, H, 2]
      const at::Tensor weight = weights.select(3, level).select(3, p);
      const at::Tensor x = at_point.select(3, 0) * width - 0.5;
      const at::Tensor y = at_point.select(3, 1) * height - 0.5;
      const at::Tensor left = x.floor(), top = y.floor();
      for (int corner = 0; corner < 4; ++corner) {
        const bool is_right = corner % 2 == 1, is_low = corner / 2 == 1;
        const at::Tensor column = is_right ? left + 1 : left, row = is_low ? top + 1 : top;
        const at::Tensor across = is_right ? x - left : 1 - (x - left);
        const at::Tensor down = is_low ? y - top : 1 - (y - top);
        // Locations that are not finite fail, too.
        const at::Tensor is_inside = (column >= 0) & (column < width) & (row >= 0) & (row < height);
        const at::Tensor share = at::where(is_inside, across * down * weight, 0.0);
        const at::Tensor zero = at::zeros({}, weights.options());
        const at::Tensor pixel = at::where(is_inside, row, zero).to(at::kLong) * width +
                                 at::where(is_inside, column, zero).to(at::kLong) + first;
        sum.index_add_(0, (pixel * heads + first_rows).flatten(),
                       (share.unsqueeze(-1) * given).view({-1, dims}));
      }
    }
    first += height * width;
  }
  return sum.view({batch, pixels, heads, dims});
}

}  // namespace ffkit
