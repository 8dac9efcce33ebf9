// The vector loop of PixelWriter, compiled for several instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/image/image_output.h>

namespace ffkit {

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

}  // namespace ffkit
