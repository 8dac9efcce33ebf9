#include "axis_filter.h"

#include <algorithm>
#include <cmath>

namespace ffkit {

void AxisFilter::build(int in_size, double box_begin, double box_end, int out_size, int out_first,
                       int out_count) {
  const double scale = (box_end - box_begin) / out_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_scale;  // the triangle's is 1
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
      const double distance = std::abs((k + first - center + 0.5) * inverse_scale);
      const double weight = distance < 1.0 ? 1.0 - distance : 0.0;
      scratch_[static_cast<size_t>(k)] = weight;
      sum += weight;
    }
    int32_t* weights = &weights_[max_taps * static_cast<size_t>(i)];
    int count = last - first;
    for (int k = 0; k < count; ++k) {
      const double weight = scratch_[static_cast<size_t>(k)] / sum;
      weights[k] = static_cast<int32_t>(0.5 + weight * (1 << kPrecisionBits));
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
