#include "ops/deformable_attention_gpu.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "base/make_error.h"
#include "device/device.h"

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

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::optional<GpuValueType> gpu_value_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return GpuValueType::f32;
    case at::kDouble:
      return GpuValueType::f64;
    case at::kHalf:
      return GpuValueType::f16;
    case at::kBFloat16:
      return GpuValueType::bf16;
    default:
      return std::nullopt;
  }
}

// Null: there are none.
const GpuAttentionKernels* gpu_kernels() {
  static const CudaModule* const module = find_cuda_module();
  return module == nullptr ? nullptr : module->attention_kernels();
}

// On the current stream of the GPU, as libtorch's own kernels.
void run_on_gpu(const char* (*kernel)(const GpuAttentionCall&, void*), const GpuAttentionCall& call,
                c10::Device device) {
  const c10::DeviceGuard guard(device);
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  if (const char* error = kernel(call, stream.native_handle())) {
    throw error_of(ErrorCode::unsupported,
                   "the GPU refused a kernel of deformable attention: {}; build with "
                   "-DFFKIT_CUDA_KERNELS=OFF to use no kernels",
                   error);
  }
}

// The part of a call that both directions have.
GpuAttentionCall call_of(const at::Tensor& value, const std::vector<MapSize>& levels,
                         const at::Tensor& locations, const at::Tensor& weights) {
  GpuAttentionCall call{};
  call.type = gpu_value_type(value.scalar_type()).value();
  call.sizes = gpu_sizes(value, levels, weights);
  call.value = value.const_data_ptr();
  call.locations = locations.const_data_ptr();
  call.weights = weights.const_data_ptr();
  return call;
}

struct GpuAttention : torch::autograd::Function<GpuAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& value,
                            const at::Tensor& locations, const at::Tensor& weights,
                            const std::vector<MapSize>& levels) {
    context->save_for_backward({value, locations, weights});
    context->saved_data["sides"] = sides_of(levels);
    at::Tensor out =
        at::empty({value.size(0), weights.size(1), value.size(2) * value.size(3)}, value.options());
    GpuAttentionCall call = call_of(value, levels, locations, weights);
    call.out = out.mutable_data_ptr();
    run_on_gpu(gpu_kernels()->attend, call, value.device());
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &value = saved[0], &locations = saved[1], &weights = saved[2];
    const std::vector<MapSize> levels = levels_of(context->saved_data["sides"].toIntVector());
    const at::Tensor out_gradient = gradients[0].to(value.scalar_type()).contiguous();
    const at::Tensor location_gradient = at::empty_like(locations);
    const at::Tensor weight_gradient = at::empty_like(weights);
    GpuAttentionCall call = call_of(value, levels, locations, weights);
    call.out_gradient = out_gradient.const_data_ptr();
    call.location_gradient = location_gradient.mutable_data_ptr();
    call.weight_gradient = weight_gradient.mutable_data_ptr();
    at::Tensor value_gradient;
    const bool needs_value = context->needs_input_grad(0);
    const bool adds_in_order = at::globalContext().deterministicAlgorithms();
    if (needs_value && adds_in_order) {
      value_gradient = deformable_value_gradient(value, levels, locations, weights, out_gradient);
    } else if (needs_value) {
      value_gradient = at::zeros(value.sizes(), weights.options());
      call.value_gradient = value_gradient.mutable_data_ptr();
    }
    run_on_gpu(gpu_kernels()->give_back, call, value.device());
    if (value_gradient.defined()) value_gradient = value_gradient.to(value.scalar_type());
    return {value_gradient, location_gradient, weight_gradient, at::Tensor()};
  }
};

}  // namespace

GpuAttentionSizes gpu_sizes(const at::Tensor& value, const std::vector<MapSize>& levels,
                            const at::Tensor& weights) {
  GpuAttentionSizes s{.batch = value.size(0),
                      .pixels = value.size(1),
                      .heads = value.size(2),
                      .dims = value.size(3),
                      .queries = weights.size(1),
                      .points = weights.size(4),
                      .num_levels = static_cast<int32_t>(levels.size()),
                      .levels = {}};
  int64_t first = 0;
  for (size_t l = 0; l < levels.size(); ++l) {
    s.levels[l] = {.height = static_cast<int32_t>(levels[l].height),
                   .width = static_cast<int32_t>(levels[l].width),
                   .first = first};
    first += levels[l].height * levels[l].width;
  }
  return s;
}

bool can_attend_on_gpu(const at::Tensor& value, const std::vector<MapSize>& levels) {
  return value.is_cuda() && gpu_value_type(value.scalar_type()) &&
         levels.size() <= kMostGpuLevels && gpu_kernels() != nullptr;
}

at::Tensor attend_on_gpu(const at::Tensor& value, const std::vector<MapSize>& levels,
                         const at::Tensor& locations, const at::Tensor& weights) {
  const auto wide = value.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return GpuAttention::apply(value.contiguous(), locations.to(wide).contiguous(),
                             weights.to(wide).contiguous(), levels);
}

}  // namespace ffkit
