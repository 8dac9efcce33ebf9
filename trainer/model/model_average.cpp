#include "model/model_average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>

namespace ffkit {

ModelAverage::ModelAverage(const Model& model, double decay) : decay_(decay) {
  at::NoGradGuard no_grad;
  for (const std::vector<NamedTensor>& list : {model.parameters(), model.buffers()}) {
    for (const NamedTensor& t : list) {
      values_.push_back(t.tensor);
      averages_.push_back({t.name, t.tensor.detach().clone()});
    }
  }
}

void ModelAverage::update() {
  at::NoGradGuard no_grad;
  // All at once: a GPU would be busier with starting hundreds of kernels than with their work.
  std::vector<at::Tensor> averages, values;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].is_floating_point()) {
      averages.push_back(averages_[i].tensor);
      values.push_back(values_[i]);
    } else {
      averages_[i].tensor.copy_(values_[i]);
    }
  }
  if (!averages.empty()) at::_foreach_lerp_(averages, values, 1 - decay_);
}

void ModelAverage::reset() {
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i) averages_[i].tensor.copy_(values_[i]);
}

void ModelAverage::swap() {
  at::NoGradGuard no_grad;
  // By values: optimisers and gradient buckets keep handles of the tensors.
  for (size_t i = 0; i < values_.size(); ++i) {
    const at::Tensor value = values_[i].clone();
    values_[i].copy_(averages_[i].tensor);
    averages_[i].tensor.copy_(value);
  }
}

}  // namespace ffkit
