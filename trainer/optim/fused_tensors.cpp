#include "optim/fused_tensors.h"

#include <ATen/ops/empty_like.h>

namespace ffkit {
namespace {

// Whether element i of one lies where element i of the other does: the same strides, but for
// dimensions of size 1.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

}  // namespace

at::Tensor dense_view(const at::Tensor& t) {
  if (t.dim() == 4 && !t.is_contiguous() && t.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    return t.permute({0, 2, 3, 1});
  }
  return t;
}

at::Tensor gradient_in_layout_of(const at::Tensor& w) {
  const at::Tensor& g = w.grad();
  return same_layout(w, g) ? g : at::empty_like(w).copy_(g);
}

}  // namespace ffkit
