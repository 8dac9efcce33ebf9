#include "model/finite_tensors.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/stack.h>

namespace ffkit {

std::string first_not_finite(const std::vector<NamedTensor>& tensors, NotFinite what) {
  const at::NoGradGuard no_grad;
  std::vector<const NamedTensor*> checked;
  std::vector<at::Tensor> are_wrong;
  for (const NamedTensor& t : tensors) {
    if (!t.tensor.is_floating_point() || t.tensor.numel() == 0) continue;
    checked.push_back(&t);
    are_wrong.push_back(what == NotFinite::nan_alone ? at::isnan(t.tensor).any()
                                                     : at::isfinite(t.tensor).all().logical_not());
  }
  if (checked.empty()) return {};
  // One copy from a device, not one for each tensor.
  const at::Tensor all = at::stack(are_wrong).cpu();
  const bool* wrong = all.const_data_ptr<bool>();
  for (size_t i = 0; i < checked.size(); ++i) {
    if (wrong[i]) return checked[i]->name;
  }
  return {};
}

}  // namespace ffkit
