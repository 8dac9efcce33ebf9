// The weights of Pillow's antialiased bilinear or bicubic resize along one axis. Formulas and their
// order are those of precompute_coeffs() in Pillow's src/libImaging/Resample.c.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace ffkit {

// Pillow's bilinear_filter() and bicubic_filter(), in its order of operations; x >= 0.
struct TriangleFilter {
  static constexpr double kSupport = 1;
  double operator()(double x) const { return x < 1.0 ? 1.0 - x : 0.0; }
};

struct CubicFilter {
  static constexpr double kSupport = 2;
  double operator()(double x) const {
    constexpr double kA = -0.5;
    if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0.0;
  }
};

// An axis of in_size pixels, of which [box_begin, box_end) is stretched to out_size outputs; of
// these only out_first .. out_first+out_count-1 are made.
struct AxisStretch {
  int in_size = 0;
  double box_begin = 0;
  double box_end = 0;
  int out_size = 0;
  int out_first = 0;
  int out_count = 0;
};

// The most weights that an output has.
template <typename Filter>
size_t max_taps(const AxisStretch& axis) {
  const double filter_scale = std::max((axis.box_end - axis.box_begin) / axis.out_size, 1.0);
  return static_cast<size_t>(std::ceil(Filter::kSupport * filter_scale)) * 2 + 1;
}

// Calls use(i, first, weights) for each output i from 0 on: the weights of the inputs from `first`
// on, which add up to 1. `scratch` holds them.
template <typename Filter, typename Use>
void for_each_output(const Filter& filter, const AxisStretch& axis, std::vector<double>& scratch,
                     const Use& use) {
  const double scale = (axis.box_end - axis.box_begin) / axis.out_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = Filter::kSupport * filter_scale;
  const double inverse_scale = 1.0 / filter_scale;
  scratch.resize(max_taps<Filter>(axis));
  for (int i = 0; i < axis.out_count; ++i) {
    const double center = axis.box_begin + (axis.out_first + i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int last = std::min(static_cast<int>(center + support + 0.5), axis.in_size);
    const auto count = static_cast<size_t>(last - first);
    double sum = 0;
    for (size_t k = 0; k < count; ++k) {
      const double weight =
          filter(std::abs((static_cast<int>(k) + first - center + 0.5) * inverse_scale));
      scratch[k] = weight;
      sum += weight;
    }
    for (size_t k = 0; k < count; ++k) scratch[k] /= sum;
    use(i, first, std::span<const double>(scratch.data(), count));
  }
}

}  // namespace ffkit
