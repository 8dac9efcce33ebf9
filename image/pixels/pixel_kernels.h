// The vector loops of pixel_ops.h, compiled for several instruction sets. Results are Pillow's to
// the bit; sums and products are therefore not contracted (the library is compiled so).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffkit {

// Sum over the pixels of the luma that Pillow's convert("L") gives: (19595 R + 38470 G + 7471 B +
// 2^15) / 2^16.
uint64_t sum_luma(const uint8_t* rgb, size_t num_pixels);

// rgb = (luma, luma, luma)
void set_luma(uint8_t* rgb, size_t num_pixels);

// rgb = blend(luma, rgb, factor); ImagingBlend() in Pillow's src/libImaging/Blend.c.
void blend_with_luma(uint8_t* rgb, size_t num_pixels, float factor);

// values = blend(degenerate, values, factor)
void blend_with_value(uint8_t* values, size_t num_values, int degenerate, float factor);

// out = blend(smooth, row, factor) for `num_values` values of a row; smooth is ImageFilter.SMOOTH
// of the 3 x 3 pixels around each. 3 values before and kMaxLanes + 3 behind those named are read of
// every row; kMaxLanes of `out` are written at least.
struct SmoothJob {
  const uint8_t* above = nullptr;
  const uint8_t* row = nullptr;
  const uint8_t* below = nullptr;
  size_t num_values = 0;
  float factor = 1;
  uint8_t* out = nullptr;
};
void blend_with_smooth(const SmoothJob& job);

// rgb = RGB of (H + shift, S, V) with H, S and V of 8 bits; rgb2hsv_row() and hsv2rgb() in Pillow's
// src/libImaging/Convert.c.
void shift_hue(uint8_t* rgb, size_t num_pixels, uint8_t shift);

}  // namespace ffkit
