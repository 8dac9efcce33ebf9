#include "resize/axis_filter.h"

#include <algorithm>
#include <cmath>

namespace ffkit {
namespace {

// Pillow's bilinear_filter() and bicubic_filter(), in its order of operations; x >= 0.
struct Triangle {
  static constexpr double kSupport = 1;
  double operator()(double x) const { return x < 1.0 ? 1.0 - x : 0.0; }
};

struct Cubic {
  static constexpr double kSupport = 2;
  double operator()(double x) const {
    constexpr double kA = -0.5;
    if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0.0;
  }
};

// To the nearest, halves away from zero.
int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << AxisFilter::kPrecisionBits);
  return static_cast<int32_t>(weight < 0 ? -0.5 + scaled : 0.5 + scaled);
}

}  // namespace

void AxisFilter::build(int in_size, double box_begin, double box_end, int out_size, int out_first,
                       int out_count, Interpolation interpolation) {
  if (interpolation == Interpolation::bicubic) {
    build_with(Cubic(), in_size, box_begin, box_end, out_size, out_first, out_count);
  } else {
    build_with(Triangle(), in_size, box_begin, box_end, out_size, out_first, out_count);
  }
}

template <typename Filter>
void AxisFilter::build_with(const Filter& filter, int in_size, double box_begin, double box_end,
                            int out_size, int out_first, int out_count) {
  const double scale = (box_end - box_begin) / out_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = Filter::kSupport * filter_scale;
  const double inverse_scale = 1.0 / filter_scale;
  const size_t max_taps = static_cast<size_t>(std::ceil(support)) * 2 + 1;
  weights_.resize(max_taps * static_cast<size_t>(out_count));
  taps_.resize(static_cast<size_t>(out_count));
  scratch_.resize(max_taps);
  begin_ = in_size;
  end_ = 0;
  for (int i = 0; i < out_count; ++i) {
    const double center = box_begin + (out_first + i + 0.5) * scale;
    int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int last = std::min(static_cast<int>(center + support + 0.5), in_size);
    double sum = 0;
    for (int k = 0; k < last - first; ++k) {
      const double weight = filter(std::abs((k + first - center + 0.5) * inverse_scale));
      scratch_[static_cast<size_t>(k)] = weight;
      sum += weight;
    }
    int32_t* weights = &weights_[max_taps * static_cast<size_t>(i)];
    int count = last - first;
    for (int k = 0; k < count; ++k) {
      weights[k] = to_fixed(scratch_[static_cast<size_t>(k)] / sum);
    }
    // Zero weights at the ends change nothing but the time it takes.
    while (count > 1 && weights[count - 1] == 0) --count;
    while (count > 1 && weights[0] == 0) {
      ++weights;
      ++first;
      --count;
    }
    taps_[static_cast<size_t>(i)] = {first, count, weights};
    begin_ = std::min(begin_, first);
    end_ = std::max(end_, first + count);
  }
  for (Taps& taps : taps_) taps.first -= begin_;
}

}  // namespace ffkit
