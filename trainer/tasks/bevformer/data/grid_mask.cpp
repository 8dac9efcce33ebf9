#include "tasks/bevformer/data/grid_mask.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

namespace ffkit {
namespace {

constexpr uint8_t kGridMaskStream = 129;  // none of the loader's, 0 .. 127, nor of the step's, 128

// [side] 1 on a line. Lines are drawn on half as many pixels again, whose middle is taken; behind
// the last whole period there is none.
at::Tensor lines(int64_t side, int64_t period, int64_t breadth, int64_t first) {
  const int64_t drawn = side * 3 / 2;
  at::Tensor out = at::zeros({drawn}, at::kFloat);
  for (int64_t i = 0; i < drawn / period; ++i) {
    const int64_t begin = period * i + first;
    const int64_t end = std::min(begin + breadth, drawn);
    if (begin < end) out.narrow(0, begin, end - begin).fill_(1);
  }
  return out.narrow(0, (drawn - side) / 2, side);
}

}  // namespace

at::Tensor draw_grid_mask(int64_t height, int64_t width, double probability,
                          CounterRandom& random) {
  if (random.uniform() >= probability || height < 3) return {};
  const int64_t period = 2 + random.below(height - 2);
  const int64_t breadth = std::clamp<int64_t>((period + 1) / 2, 1, period - 1);
  const int64_t first_row = random.below(period);
  const int64_t first_column = random.below(period);
  const at::Tensor rows = lines(height, period, breadth, first_row);
  const at::Tensor columns = lines(width, period, breadth, first_column);
  return at::maximum(rows.unsqueeze(1), columns.unsqueeze(0));
}

at::Tensor cover_with_grids(const at::Tensor& images, double probability, uint64_t seed,
                            int64_t epoch, std::span<const int64_t> keyframes) {
  std::vector<at::Tensor> samples;
  for (int64_t i = 0; i < images.size(0); ++i) {
    CounterRandom random({seed, epoch, keyframes[i]}, kGridMaskStream);
    const at::Tensor mask = draw_grid_mask(images.size(3), images.size(4), probability, random);
    samples.push_back(images[i]);
    if (mask.defined()) samples.back() = samples.back() * mask.to(images.device());
  }
  return at::stack(samples);
}

}  // namespace ffkit
