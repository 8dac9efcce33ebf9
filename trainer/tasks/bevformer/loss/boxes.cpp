#include "tasks/bevformer/loss/boxes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>

namespace ffkit {

at::Tensor code_boxes(const at::Tensor& boxes) {
  const std::vector<at::Tensor> b = boxes.unbind(-1);
  return at::stack({b[0], b[1], b[3].log(), b[4].log(), b[2] + b[5] * 0.5, b[5].log(), b[6].sin(),
                    b[6].cos(), b[7], b[8]},
                   -1);
}

DetectedBoxes decode_boxes(const at::Tensor& logits, const at::Tensor& coded,
                           const BoxDecoding& decoding) {
  const int64_t classes = logits.size(1);
  const at::Tensor all = logits.sigmoid().flatten();
  const auto [scores, index] = all.topk(std::min(decoding.max_boxes, all.size(0)));
  const at::Tensor labels = index.remainder(classes);
  const at::Tensor query = index.div(classes, "floor");
  const std::vector<at::Tensor> c = coded.index_select(0, query).unbind(-1);
  const at::Tensor height = c[5].exp();
  at::Tensor is_inside = at::ones_like(labels, at::kBool);
  const std::array middle = {c[0], c[1], c[4]};
  for (size_t i = 0; i < 3; ++i) {
    is_inside = is_inside.logical_and(middle[i] >= decoding.range[i])
                    .logical_and(middle[i] <= decoding.range[i + 3]);
  }
  const at::Tensor kept = is_inside.nonzero().squeeze(1);
  const at::Tensor boxes = at::stack({c[0], c[1], c[4] - height * 0.5, c[2].exp(), c[3].exp(),
                                      height, at::atan2(c[6], c[7]), c[8], c[9]},
                                     -1);
  return {.boxes = boxes.index_select(0, kept),
          .scores = scores.index_select(0, kept),
          .labels = labels.index_select(0, kept)};
}

}  // namespace ffkit
