#include "resize/axis_filter.h"

#include <algorithm>
#include <span>

#include "resize/axis_weights.h"

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

}  // namespace ffkit
