#include "checkpoint/tensor_share.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace ffkit {
namespace {

int64_t product_of(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Empty sizes where they have nothing in common; of 0-dimensional tensors both are all there is.
bool intersect(const TensorBox& a, const TensorBox& b, TensorBox& common) {
  common.begin.resize(a.begin.size());
  common.size.resize(a.begin.size());
  for (size_t d = 0; d < a.begin.size(); ++d) {
    common.begin[d] = std::max(a.begin[d], b.begin[d]);
    common.size[d] = std::min(a.begin[d] + a.size[d], b.begin[d] + b.size[d]) - common.begin[d];
    if (common.size[d] <= 0) return false;
  }
  return true;
}

// The part `common` of `box`, which begins at `offset` of the share's dimension.
at::Tensor view_of(const at::Tensor& tensor, const TensorShare& share, const TensorBox& box,
                   int64_t offset, const TensorBox& common) {
  at::Tensor view = tensor;
  for (size_t d = 0; d < box.begin.size(); ++d) {
    const int64_t within = common.begin[d] - box.begin[d];
    view = view.narrow(int64_t(d), within + (int64_t(d) == share.dimension ? offset : 0),
                       common.size[d]);
  }
  return view;
}

// Calls `found(box of a, its offset, box of b, its offset, what they have in common)` of each pair
// that has something in common.
template <typename Found>
void for_each_overlap(const TensorShare& a, const TensorShare& b, Found found) {
  TensorBox common;
  int64_t a_offset = 0;
  for (const TensorBox& a_box : a.boxes) {
    int64_t b_offset = 0;
    for (const TensorBox& b_box : b.boxes) {
      if (intersect(a_box, b_box, common)) found(a_box, a_offset, b_box, b_offset, common);
      if (!b_box.size.empty()) b_offset += b_box.size[b.dimension];
    }
    if (!a_box.size.empty()) a_offset += a_box.size[a.dimension];
  }
}

}  // namespace

TensorShare TensorShare::of_all(std::vector<int64_t> shape) {
  TensorBox box{.begin = std::vector<int64_t>(shape.size(), 0), .size = shape};
  return {.whole_shape = std::move(shape), .boxes = {std::move(box)}};
}

std::vector<int64_t> TensorShare::shape() const {
  std::vector<int64_t> out = boxes.front().size;
  for (size_t i = 1; i < boxes.size(); ++i) out[dimension] += boxes[i].size[dimension];
  return out;
}

int64_t TensorShare::num_elements() const {
  return product_of(shape());
}

bool overlap(const TensorShare& a, const TensorShare& b) {
  bool is_any = false;
  for_each_overlap(a, b, [&](auto&&...) { is_any = true; });
  return is_any;
}

int64_t copy_share(const at::Tensor& from, const TensorShare& from_share, const at::Tensor& to,
                   const TensorShare& to_share) {
  const at::NoGradGuard no_grad;
  int64_t count = 0;
  for_each_overlap(from_share, to_share,
                   [&](const TensorBox& from_box, int64_t from_offset, const TensorBox& to_box,
                       int64_t to_offset, const TensorBox& common) {
                     view_of(to, to_share, to_box, to_offset, common)
                         .copy_(view_of(from, from_share, from_box, from_offset, common));
                     count += product_of(common.size);
                   });
  return count;
}

}  // namespace ffkit
