// The vector loop of PhotoMetricDistortion, compiled for several instruction sets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ffkit {

// What is done to the pixels of a picture, in this order. The defaults change nothing but rounding.
struct RowDistortion {
  float brightness = 0;       // is added, in units of 0 .. 255
  float contrast_before = 1;  // times all channels
  // In HSV as OpenCV has it: the saturation times this, the hue plus so many turns of 60 degrees,
  // -3 .. 3.
  float saturation = 1;
  float hue = 0;
  float contrast_after = 1;
  std::array<uint8_t, 3> channels = {0, 1, 2};  // channel c of the result was channels[c]
};

// Three rows of floats, red, green and blue, `stride` values apart. Up to the next multiple of
// kMaxLanes of `count` is changed.
void distort_rows(float* rows, size_t stride, size_t count, const RowDistortion& distortion);

}  // namespace ffkit
