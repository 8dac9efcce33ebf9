// What is done with gradients before a step: clipping by their global norm, and scaling.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

// The Euclidean norm of all gradients together, [] on their device; does not wait for it.
// Parameters without a gradient are left out; without any the norm is 0.
at::Tensor gradient_norm(const std::vector<NamedTensor>& parameters);
// `factor`: [] on the gradients' device.
void multiply_gradients(const std::vector<NamedTensor>& parameters, const at::Tensor& factor);
// Scales all gradients in place by min(1, max_norm / (norm + 1e-6)), as
// torch.nn.utils.clip_grad_norm_. `max_norm` > 0; `norm` may be of more gradients than these.
void scale_gradients(const std::vector<NamedTensor>& parameters, const at::Tensor& norm,
                     double max_norm);

// GradScaler: keeps small gradients from vanishing in float16, as torch.amp.GradScaler. The loss is
// multiplied by a scale before the backward pass and gradients are divided by it afterwards. A step
// whose gradients are not all finite is left out and, when the scale is dynamic, halves it; 2,000
// good steps in a row double it.
class GradScaler {
 public:
  // `fixed_scale` 0: dynamic, from 65,536. With `is_on` false every call does nothing.
  GradScaler(bool is_on, double fixed_scale, c10::Device device);

  bool is_on() const { return is_on_; }
  // The factor, [1] f32; undefined when off. Shares its storage.
  const at::Tensor& factor() const { return scale_; }
  at::Tensor scale(const at::Tensor& loss) const;
  // Divides the gradients of `parameters` by the scale; true when all are finite. Waits for the
  // device. `agree` says whether those of other processes are finite too, from whether these are;
  // it is called once when the scaler is on.
  bool unscale(
      const std::vector<NamedTensor>& parameters,
      const std::function<bool(bool own)>& agree = [](bool own) { return own; });
  // After the step.
  void update();

  // What a checkpoint must hold: the scale and the number of good steps in a row. Empty when off.
  // Shares its storage.
  std::vector<NamedTensor> state() const;

 private:
  const bool is_on_;
  const bool is_dynamic_;
  at::Tensor scale_;           // [1] f32
  at::Tensor growth_tracker_;  // [1] i32
  at::Tensor found_inf_;       // [1] f32
};

}  // namespace ffkit
