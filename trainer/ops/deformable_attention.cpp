#include "ops/deformable_attention.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/make_error.h"
#include "ops/deformable_attention_gpu.h"
#include "ops/deformable_attention_kernels.h"

namespace ffkit {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

DeformableAttentionShape shape_of(const at::Tensor& value, const std::vector<MapSize>& levels,
                                  const at::Tensor& locations, const at::Tensor& weights) {
  const auto refuse = [](const char* reason) {
    throw error_of(ErrorCode::invalid_argument, "deformable attention: {}", reason);
  };
  if (value.dim() != 4) refuse("value is not [B, S, H, D]");
  if (weights.dim() != 5) refuse("weights are not [B, Q, H, L, P]");
  if (locations.dim() != 6 || locations.size(5) != 2 ||
      locations.sizes().slice(0, 5) != weights.sizes()) {
    refuse("locations are not [B, Q, H, L, P, 2] with the sizes of the weights");
  }
  DeformableAttentionShape shape{.batch = value.size(0),
                                 .pixels = value.size(1),
                                 .heads = value.size(2),
                                 .dims = value.size(3),
                                 .queries = weights.size(1),
                                 .points = weights.size(4),
                                 .levels = {}};
  int64_t first = 0;
  for (const MapSize& level : levels) {
    shape.levels.push_back({.height = level.height, .width = level.width, .first = first});
    first += level.height * level.width;
  }
  if (weights.size(0) != shape.batch || weights.size(2) != shape.heads) {
    refuse("value and weights have different numbers of samples or heads");
  }
  if (weights.size(3) != std::ssize(levels) || first != shape.pixels) {
    refuse("the sizes of the maps do not fit value and weights");
  }
  return shape;
}

// Several queries for a thread, for each costs microseconds.
constexpr int64_t kQueriesAtLeast = 16;

template <typename T>
at::Tensor attend_on_cpu(const DeformableAttentionShape& shape, const at::Tensor& value,
                         const at::Tensor& locations, const at::Tensor& weights) {
  at::Tensor out =
      at::empty({shape.batch, shape.queries, shape.heads * shape.dims}, value.options());
  const DeformableAttentionInput<T> input{value.const_data_ptr<T>(), locations.const_data_ptr<T>(),
                                          weights.const_data_ptr<T>()};
  T* to = out.mutable_data_ptr<T>();
  at::parallel_for(0, shape.batch * shape.queries, kQueriesAtLeast,
                   [&](int64_t first, int64_t last) { attend(shape, input, first, last, to); });
  return out;
}

struct Gradients {
  at::Tensor value, locations, weights;
};

template <typename T>
Gradients gradients_on_cpu(const DeformableAttentionShape& shape, const at::Tensor& value,
                           const at::Tensor& locations, const at::Tensor& weights,
                           const at::Tensor& out, bool needs_value) {
  Gradients g{.value = needs_value ? at::zeros_like(value) : at::Tensor(),
              .locations = at::empty_like(locations),
              .weights = at::empty_like(weights)};
  const DeformableAttentionInput<T> input{value.const_data_ptr<T>(), locations.const_data_ptr<T>(),
                                          weights.const_data_ptr<T>()};
  const DeformableAttentionGradients<T> to{
      out.const_data_ptr<T>(), needs_value ? g.value.mutable_data_ptr<T>() : nullptr,
      g.locations.mutable_data_ptr<T>(), g.weights.mutable_data_ptr<T>()};
  // By heads, which share no memory: the sums have one order.
  at::parallel_for(0, shape.batch * shape.heads, 1, [&](int64_t first, int64_t last) {
    attend_backward(shape, input, to, first, last);
  });
  return g;
}

struct CpuAttention : torch::autograd::Function<CpuAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& value,
                            const at::Tensor& locations, const at::Tensor& weights,
                            const std::vector<MapSize>& levels) {
    context->save_for_backward({value, locations, weights});
    context->saved_data["sides"] = sides_of(levels);
    const DeformableAttentionShape shape = shape_of(value, levels, locations, weights);
    return value.scalar_type() == at::kDouble
               ? attend_on_cpu<double>(shape, value, locations, weights)
               : attend_on_cpu<float>(shape, value, locations, weights);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &value = saved[0], &locations = saved[1], &weights = saved[2];
    const std::vector<MapSize> levels = levels_of(context->saved_data["sides"].toIntVector());
    const DeformableAttentionShape shape = shape_of(value, levels, locations, weights);
    const at::Tensor out = gradients[0].contiguous();
    const bool needs_value = context->needs_input_grad(0);
    const Gradients g =
        value.scalar_type() == at::kDouble
            ? gradients_on_cpu<double>(shape, value, locations, weights, out, needs_value)
            : gradients_on_cpu<float>(shape, value, locations, weights, out, needs_value);
    return {g.value, g.locations, g.weights, at::Tensor()};
  }
};

}  // namespace

std::vector<int64_t> sides_of(const std::vector<MapSize>& levels) {
  std::vector<int64_t> sides;
  for (const MapSize& level : levels) sides.insert(sides.end(), {level.height, level.width});
  return sides;
}

std::vector<MapSize> levels_of(const std::vector<int64_t>& sides) {
  std::vector<MapSize> levels;
  for (size_t i = 0; i < sides.size(); i += 2) levels.push_back({sides[i], sides[i + 1]});
  return levels;
}

at::Tensor deformable_attention(const at::Tensor& value, const std::vector<MapSize>& levels,
                                const at::Tensor& locations, const at::Tensor& weights) {
  if (can_attend_on_gpu(value, levels)) {
    shape_of(value, levels, locations, weights);
    return attend_on_gpu(value, levels, locations, weights);
  }
  if (!value.is_cpu()) {
    return deformable_attention_by_grid_sample(value, levels, locations, weights);
  }
  const auto wide = value.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return CpuAttention::apply(value.to(wide).contiguous(), locations.to(wide).contiguous(),
                             weights.to(wide).contiguous(), levels)
      .to(value.scalar_type());
}

at::Tensor deformable_attention_by_grid_sample(const at::Tensor& value,
                                               const std::vector<MapSize>& levels,
                                               const at::Tensor& locations,
                                               const at::Tensor& weights) {
  const DeformableAttentionShape s = shape_of(value, levels, locations, weights);
  const auto wide = value.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  constexpr int64_t kBilinear = 0;
  constexpr int64_t kZeros = 0;
  const at::Tensor grids = locations.to(wide) * 2 - 1;
  at::Tensor sum;  // [B*H, D, Q]
  for (size_t l = 0; l < s.levels.size(); ++l) {
    const DeformableAttentionShape::Level& level = s.levels[l];
    const at::Tensor map = value.to(wide)
                               .narrow(1, level.first, level.height * level.width)
                               .permute({0, 2, 3, 1})
                               .reshape({s.batch * s.heads, s.dims, level.height, level.width});
    const auto index = static_cast<int64_t>(l);
    const at::Tensor grid = grids.select(3, index).transpose(1, 2).flatten(0, 1);  // [B*H, Q, P, 2]
    const at::Tensor weight =
        weights.to(wide).select(3, index).transpose(1, 2).flatten(0, 1).unsqueeze(1);
    const at::Tensor sampled =
        at::grid_sampler_2d(map, grid, kBilinear, kZeros, /*align_corners=*/false);
    const at::Tensor part = (sampled * weight).sum(-1);
    sum = sum.defined() ? sum + part : part;
  }
  return sum.view({s.batch, s.heads * s.dims, s.queries})
      .transpose(1, 2)
      .contiguous()
      .to(value.scalar_type());
}

}  // namespace ffkit
