#include "resize/axis_filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "resize/resize_kernels.h"

namespace ffkit {
namespace {

// To the nearest, halves away from zero.
int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << AxisFilter::kPrecisionBits);
  return static_cast<int32_t>(weight < 0 ? -0.5 + scaled : 0.5 + scaled);
}

}  // namespace

void AxisFilter::build(int in_size, double box_begin, double box_end, int out_size, int out_first,
                       int out_count, Interpolation interpolation) {
  if (interpolation == Interpolation::bicubic) {
    build_with(CubicFilter(), in_size, box_begin, box_end, out_size, out_first, out_count);
  } else {
    build_with(TriangleFilter(), in_size, box_begin, box_end, out_size, out_first, out_count);
  }
}

template <typename Filter>
void AxisFilter::build_with(const Filter& filter, int in_size, double box_begin, double box_end,
                            int out_size, int out_first, int out_count) {
  const AxisStretch axis{in_size, box_begin, box_end, out_size, out_first, out_count};
  const size_t most = max_taps<Filter>(axis);
  weights_.resize(most * static_cast<size_t>(out_count));
  taps_.resize(out_count);
  begin_ = in_size;
  end_ = 0;
  for_each_output(filter, axis, scratch_, [&](int i, int first, std::span<const double> exact) {
    int32_t* weights = &weights_[most * static_cast<size_t>(i)];
    auto count = static_cast<int>(exact.size());
    std::ranges::transform(exact, weights, to_fixed);
    // Zero weights at the ends change nothing but the time it takes.
    while (count > 1 && weights[count - 1] == 0) --count;
    while (count > 1 && weights[0] == 0) {
      ++weights;
      ++first;
      --count;
    }
    taps_[i] = {first, count, weights};
    begin_ = std::min(begin_, first);
    end_ = std::max(end_, first + count);
  });
  for (Taps& taps : taps_) taps.first -= begin_;
}

void LinearAxis::build(int in_size, int out_size) {
  if (in_size == num_inputs_ && out_size == num_outputs_) return;
  num_inputs_ = in_size;
  num_outputs_ = out_size;
  index_.assign(static_cast<size_t>(out_size) + kMaxLanes, 0);
  weight_.assign(static_cast<size_t>(out_size) + kMaxLanes, 0);
  // As OpenCV has it, in these steps: the last bit of `center` depends on them.
  const double factor = static_cast<double>(out_size) / in_size;
  const double scale = 1 / factor;
  for (int i = 0; i < out_size; ++i) {
    const auto center = static_cast<float>((i + 0.5) * scale - 0.5);
    auto first = static_cast<int>(std::floor(center));
    float weight = center - static_cast<float>(first);
    if (first < 0 || in_size == 1) {
      first = 0;
      weight = 0;
    } else if (first >= in_size - 1) {
      first = in_size - 2;
      weight = 1;
    }
    index_[i] = first;
    weight_[i] = weight;
  }
}

}  // namespace ffkit
