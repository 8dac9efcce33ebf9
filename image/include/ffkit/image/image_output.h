// ImageOutput: how pixels are written into a batch: element type, order of the dimensions,
// normalisation.
#pragma once

#include <array>

#include <ffkit/format/schema.h>

namespace ffkit {

enum class Layout { nchw, nhwc };

// How pixels are written into the batch.
struct ImageOutput {
  // u8, f16, bf16 or f32; u16 or i32 for maps of labels and depths.
  //
  // Pictures of 16 bits a channel (PNG, PGM, PPM) keep them with all but u8, which has the high
  // byte of each value; and without augmentations and ScalePad, which are made for bytes and get
  // the high bytes too. With f16, bf16 and f32 a value of 16 bits counts as value / 65535, where
  // one of bytes counts as pixel / 255. With u16 and i32 pixels are the values themselves, of bytes
  // 0 .. 255.
  DType dtype = DType::f32;
  Layout layout = Layout::nchw;
  // (pixel / 255 - mean) / std per channel; without it pixel / 255, and for u8, u16 and i32 the
  // pixel itself. These three take no normalisation (Error(invalid_argument) when it is asked for).
  bool normalize = true;
  std::array<float, 3> mean = {0.485F, 0.456F,
                               0.406F};  // ImageNet's, as torchvision's models expect
  std::array<float, 3> std = {0.229F, 0.224F, 0.225F};
};

}  // namespace ffkit
