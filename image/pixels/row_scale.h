// RowScale: what turns the 8-bit values of one row of an output picture into its elements: value *
// scale + bias.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/image/image_output.h>

#include "resize/resize_kernels.h"

namespace ffkit {

// In the order of a row of the layout, [width][3]; or, where all of a row belong to one channel,
// [3][width]. kMaxLanes more may be read behind the end.
struct RowScale {
  RowScale(int64_t width, const ImageOutput& output);

  std::vector<float> scale;
  std::vector<float> bias;
};

}  // namespace ffkit
