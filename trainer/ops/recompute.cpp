#include "ops/recompute.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "device/device.h"

namespace ffkit {
namespace {

namespace autograd = torch::autograd;

struct Recomputed : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor&)> function;
  // As it was in the forward pass.
  c10::DeviceType device = c10::kCPU;
  bool has_autocast = false;
  c10::ScalarType autocast_type = c10::kFloat;
};

struct RecomputeFunction : autograd::Function<RecomputeFunction> {
  // `tensors`: the input, and the parameters behind it.
  static at::Tensor forward(autograd::AutogradContext* context,
                            const c10::intrusive_ptr<Recomputed>& recomputed,
                            at::TensorList tensors) {
    context->saved_data["recomputed"] = c10::IValue::make_capsule(recomputed);
    const at::Tensor out = recomputed->function(tensors.front());
    context->save_for_backward(tensors.vec());
    return out;
  }

  static autograd::variable_list backward(autograd::AutogradContext* context,
                                          const autograd::variable_list& gradients) {
    const auto& recomputed =
        static_cast<const Recomputed&>(*context->saved_data["recomputed"].toCapsule());
    autograd::variable_list wanted = context->get_saved_variables();
    const bool needs_input = wanted.front().requires_grad();
    wanted.front() = wanted.front().detach().set_requires_grad(needs_input);
    at::Tensor out;
    {
      const at::AutoGradMode with_gradients(true);
      const AutocastAs autocast(recomputed.device, recomputed.has_autocast,
                                recomputed.autocast_type);
      out = recomputed.function(wanted.front());
    }
    autograd::variable_list targets;
    for (const at::Tensor& tensor : wanted) {
      if (tensor.requires_grad()) targets.push_back(tensor);
    }
    const autograd::variable_list found =
        autograd::grad({out}, targets, {gradients.front()}, /*retain_graph=*/false,
                       /*create_graph=*/false, /*allow_unused=*/true);
    autograd::variable_list result = {at::Tensor()};  // of `recomputed`, which has none
    size_t next = 0;
    for (const at::Tensor& tensor : wanted) {
      result.push_back(tensor.requires_grad() ? found[next++] : at::Tensor());
    }
    return result;
  }
};

}  // namespace

at::Tensor recomputed(std::function<at::Tensor(const at::Tensor&)> function,
                      const at::Tensor& input, const std::vector<at::Tensor>& parameters) {
  if (!at::GradMode::is_enabled()) return function(input);
  auto held = c10::make_intrusive<Recomputed>();
  held->function = std::move(function);
  held->device = input.device().type();
  held->has_autocast = at::autocast::is_autocast_enabled(held->device);
  held->autocast_type = at::autocast::get_autocast_dtype(held->device);
  autograd::variable_list tensors = {input};
  tensors.insert(tensors.end(), parameters.begin(), parameters.end());
  // As a TensorList: of a vector, libtorch would not see that it holds tensors.
  return RecomputeFunction::apply(held, at::TensorList(tensors));
}

}  // namespace ffkit
