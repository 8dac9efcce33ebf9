#include "resize/linear_axis.h"

#include <cmath>
#include <cstddef>

#include "resize/resize_kernels.h"

namespace ffkit {

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
