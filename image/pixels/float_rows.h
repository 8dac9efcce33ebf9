// Rows of pixels as floats, a row for each channel: the vector loops of FloatScaler, compiled for
// several instruction sets.
//
// The loops write whole registers: a row has room for float_row_stride(width) values. What is
// behind its last value is some finite number.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/format/schema.h>

#include "resize/axis_filter.h"

namespace ffkit {

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

}  // namespace ffkit
