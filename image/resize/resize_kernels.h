// The vector loops of the resize, compiled for several instruction sets; the processor's best is
// taken at run time.
//
// Both passes round to 8 bits, as Pillow's do. The horizontal pass works on 16 rows at a time,
// transposed so that a register holds the same column of all of them: every output is then plain
// multiplications by a broadcast weight.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/format/schema.h>

#include "resize/axis_filter.h"

namespace ffkit {

// The vector loops work on whole registers, of up to so many values.
constexpr size_t kMaxLanes = 16;
constexpr int kRowBlock = 16;  // rows that the horizontal pass works on at once

// One block of the horizontal pass.
struct HorizontalJob {
  // at the column of filter->begin(); kRowBlock bytes behind the last column are read
  const uint8_t* rows[kRowBlock];
  const AxisFilter* filter = nullptr;
  bool flip = false;           // output i goes to column num_outputs-1-i
  bool planar = false;         // output [3][num_outputs], else [num_outputs][3]
  uint8_t* columns = nullptr;  // scratch, aligned: [round_up(3 * inputs, 16)][16]
  uint8_t* results = nullptr;  // scratch, aligned: [round_up(3 * outputs, 16)][16]
  uint8_t* out = nullptr;      // kRowBlock rows of round_up(3 * outputs, 16) bytes
  ptrdiff_t out_stride = 0;
};
void resample_horizontal(const HorizontalJob& job);

// A part of the rows of the vertical pass, and what becomes of its 8-bit results.
struct VerticalJob {
  const uint8_t* rows = nullptr;  // of filter->begin()
  ptrdiff_t stride = 0;
  size_t num_columns = 0;  // bytes of each row
  const AxisFilter* filter = nullptr;
  DType dtype = DType::u8;  // u8, f16, bf16 or f32
  // [num_columns]; result * scale + bias, rounded to nearest even; not used for u8.
  const float* scale = nullptr;
  const float* bias = nullptr;
  void* out = nullptr;
  ptrdiff_t out_stride_bytes = 0;
};
void resample_vertical(const VerticalJob& job);

}  // namespace ffkit
