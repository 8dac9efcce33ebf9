// The vector loops of gaussian_blur.h, compiled for several instruction sets. They read and write
// up to kBlurSlack values behind those that are named.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffkit {

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

}  // namespace ffkit
