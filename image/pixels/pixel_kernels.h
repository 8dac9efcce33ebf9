// The vector loops of pixels, compiled for several instruction sets; resample_passes.h has those
// of the resize.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>

#include "resize/resample_passes.h"

namespace ffkit {

// Of pixel_ops.h. Results are Pillow's to the bit; sums and products are therefore not contracted
// (the library is compiled so).

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

// Of GaussianBlurrer. They read and write up to kBlurSlack values behind those that are named.

constexpr size_t kBlurSlack = 64;

// One pass of Pillow's extended box blur along one axis, ImagingLineBoxBlur32() in its
// src/libImaging/BoxBlur.c: a value becomes the mean of the 2 * radius + 1 values around it and,
// with a smaller weight, of the one before and the one behind these. Weights are multiples of
// 2^-24.
struct BoxBlur {
  int radius = 0;  // 0 .. 127, so that sums have 16 bits
  uint32_t inner = 0;
  uint32_t outer = 0;
};

// Of a row of RGB: out[i] is made of row[i - 3 * (radius + 1)] to row[i + 3 * (radius + 1)].
void box_blur_row(const uint8_t* row, size_t num_values, const BoxBlur& blur, uint8_t* out);

// Of kBlurStrip columns of bytes, [height, kBlurStrip]. The first and last row are repeated beyond
// the edges.
constexpr size_t kBlurStrip = 64;
void box_blur_strip(const uint8_t* strip, int height, const BoxBlur& blur, uint8_t* out);

// A symmetric kernel of 2 * radius + 1 weights, of which weights[0] is the middle one.
struct SymmetricKernel {
  const float* weights = nullptr;
  int radius = 0;
};

// Of a row of RGB floats: out[i] is made of row[i - 3 * radius] to row[i + 3 * radius].
void convolve_row(const float* row, size_t num_values, const SymmetricKernel& kernel, float* out);

// Of rows[0], ..., rows[2 * radius], rounded to the nearest, halves to even.
void convolve_rows(const float* const* rows, size_t num_values, const SymmetricKernel& kernel,
                   uint8_t* out);

// Of PhotoMetricDistortion.

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

// Of FloatScaler: rows of pixels as floats, a row for each channel. The loops write whole
// registers: a row has room for float_row_stride(width) values. What is behind its last value is
// some finite number.

// From one channel's row of `width` values to the next one's.
size_t float_row_stride(int width);

// The [width][3] bytes of one row as three rows of floats, 0 .. 255. 64 bytes behind the last one
// may be read.
void split_row(const uint8_t* rgb, int width, float* rows);

// a * (1 - weight) + b * weight, of `count` values, a multiple of kMaxLanes.
void blend_rows(const float* a, const float* b, float weight, size_t count, float* out);

// One channel's row along its axis.
void resample_row(const float* row, const LinearAxis& axis, float* out);

// Three rows of `width` values as one of [width][3], with room for float_row_stride(width) times
// three.
void interleave_rows(const float* rows, int width, float* out);

// value * scale + bias as `count` elements of f32, f16 or bf16, rounded to nearest even. Writes no
// more than them. kMaxLanes more of the others may be read.
void store_row(const float* values, const float* scale, const float* bias, size_t count,
               DType dtype, void* out);

// Of PixelWriter.

struct WriteJob {
  const uint8_t* pixels = nullptr;  // rows of [width][3]
  ptrdiff_t stride = 0;
  size_t width = 0;
  size_t height = 0;
  Layout layout = Layout::nchw;
  DType dtype = DType::f32;      // u8, f16, bf16 or f32
  const float* scale = nullptr;  // as RowScale; not used for u8
  const float* bias = nullptr;
  void* out = nullptr;
  ptrdiff_t out_stride_bytes = 0;
  size_t plane_values = 0;  // from one channel to the next, for nchw
};
void write_pixels(const WriteJob& job);

// Finished pixels into their place in the batch: normalised, converted, laid out in one pass.

// What turns the 8-bit values of one row of an output picture into its elements: value * scale +
// bias. In the order of a row of the layout, [width][3]; or, where all of a row belong to one
// channel, [3][width]. kMaxLanes more may be read behind the end.
struct RowScale {
  RowScale(int64_t width, const ImageOutput& output);

  std::vector<float> scale;
  std::vector<float> bias;
};

// The same values to the bit as Resizer writes for the same pixels. run() is thread-safe.
class PixelWriter {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate().
  PixelWriter(ImageSize size, const ImageOutput& output);

  void set_size(ImageSize size);

  // `pixels`: [height, width, 3] RGB, rows `stride` bytes apart; 64 bytes behind the last one may
  // be read.
  void run(const uint8_t* pixels, ptrdiff_t stride, void* out) const;

 private:
  ImageSize size_;
  ImageOutput output_;
  RowScale scale_;
};

// Whether the batch has numbers, whose values are kept, and not colours.
inline bool has_numbers(const ImageOutput& output) {
  return output.dtype == DType::u16 || output.dtype == DType::i32;
}

// Pixels of 16 bits; and those of 8 bits where the batch has numbers. Thread-safe.
class WideWriter {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate().
  WideWriter(ImageSize size, const ImageOutput& output) : size_(size), output_(output) {}

  // [height, width, 3] without gaps. u16 and i32 are the values themselves; f16, bf16 and f32 are
  // value / 65535, normalised where the output is. u8 is no output of pixels of 16 bits.
  void run(const uint16_t* pixels, void* out) const;
  // u16 and i32 only.
  void run(const uint8_t* pixels, void* out) const;

 private:
  ImageSize size_;
  ImageOutput output_;
};

}  // namespace ffkit
