// ImageOutput: how pixels are written into a batch.
#pragma once

#include <array>

#include <ffkit/format/schema.h>

namespace ffkit {

enum class Layout { nchw, nhwc };

struct ImageOutput {
  // u8, f16, bf16 or f32; u16 or i32 for maps of labels and depths.
  //
  // A picture of 16 bits a channel (PNG, PGM, PPM) keeps them; u8 gets the high byte of each value.
  // f16, bf16 and f32 get value / 65535 of 16 bits, and pixel / 255 of bytes. u16 and i32 get the
  // values themselves. With what is made for bytes, augmentations, a ScalePad and a bilinear or
  // bicubic turn, it is a bad sample but as u8, Error(unsupported).
  DType dtype = DType::f32;
  Layout layout = Layout::nchw;
  // (pixel / 255 - mean) / std per channel; without it pixel / 255. u8, u16 and i32 have the pixel
  // itself, and refuse normalisation with Error(invalid_argument).
  bool normalize = true;
  // ImageNet's, which torchvision's models expect.
  std::array<float, 3> mean = {0.485F, 0.456F, 0.406F};
  std::array<float, 3> std = {0.229F, 0.224F, 0.225F};
  // 3, or 1: grey, Pillow's convert("L"), which is what torchvision's Grayscale() makes, of the
  // finished colours. mean and std are then three times the same. A picture of 16 bits in colours
  // is a bad sample, Error(unsupported): its values have no grey.
  int channels = 3;
};

}  // namespace ffkit
