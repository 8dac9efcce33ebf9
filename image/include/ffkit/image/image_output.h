// ImageOutput: how pixels are written into a batch: element type, order of the dimensions, normalisation.
#pragma once

#include <array>

#include <ffkit/format/schema.h>

namespace ffkit {

enum class Layout { nchw, nhwc };

// How pixels are written into the batch.
struct ImageOutput {
  DType dtype = DType::f32;  // u8, f16, bf16 or f32
  Layout layout = Layout::nchw;
  // (pixel / 255 - mean) / std per channel; without it pixel / 255, and for u8 the pixel itself. u8 takes no normalisation (Error(invalid_argument) when it is asked for).
  bool normalize = true;
  std::array<float, 3> mean = {0.485F, 0.456F,
                               0.406F};  // ImageNet's, as torchvision's models expect
  std::array<float, 3> std = {0.229F, 0.224F, 0.225F};
};

}  // namespace ffkit
