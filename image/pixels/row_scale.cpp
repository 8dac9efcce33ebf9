#include "pixels/row_scale.h"

namespace ffkit {

RowScale::RowScale(int64_t width, const ImageOutput& output) {
  const size_t num_values = 3 * static_cast<size_t>(width);
  scale.resize(num_values + kMaxLanes);
  bias.resize(num_values + kMaxLanes);
  for (size_t i = 0; i < num_values; ++i) {
    const size_t channel = output.layout == Layout::nchw ? i / static_cast<size_t>(width) : i % 3;
    const double std = output.normalize ? output.std[channel] : 1.0;
    const double mean = output.normalize ? output.mean[channel] : 0.0;
    scale[i] = static_cast<float>(1.0 / (255.0 * std));
    bias[i] = static_cast<float>(-mean / std);
  }
}

}  // namespace ffkit
