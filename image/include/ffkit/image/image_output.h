// ImageOutput: how pixels are written into a batch.
#pragma once

#include <array>

#include <ffkit/base/enum_names.h>
#include <ffkit/format/schema.h>

namespace ffkit {

enum class Layout { nchw, nhwc };
template <>
inline constexpr auto kNames<Layout> = enum_names<Layout>("layout", {{Layout::nchw, "nchw"},
                                                                     {Layout::nhwc, "nhwc"}});

struct ImageOutput {
  // u8, f16, bf16 or f32; u16 or i32 for maps of labels and depths.
  //
  // A picture with 16 bits per channel (PNG, PGM, PPM) keeps them; u8 gets the high byte of each
  // value. f16, bf16 and f32 get value / 65535 for 16 bits, and pixel / 255 for bytes. u16 and i32
  // get the values themselves. Augmentations, a ScalePad and a bilinear or bicubic rotation need
  // bytes: with these and another dtype than u8, such a picture is a bad sample,
  // Error(unsupported).
  DType dtype = DType::f32;
  Layout layout = Layout::nchw;
  // (pixel / 255 - mean) / std per channel; false: pixel / 255. u8, u16 and i32 have the pixel
  // itself; with them, normalisation is Error(invalid_argument).
  bool normalize = true;
  // ImageNet's, which torchvision's models expect.
  std::array<float, 3> mean = {0.485F, 0.456F, 0.406F};
  std::array<float, 3> std = {0.229F, 0.224F, 0.225F};
  // 3; or 1: grey after all augmentations, like Pillow's convert("L") and torchvision's
  // Grayscale(). mean and std must then be three times the same. A colour picture with 16 bits is a
  // bad sample, Error(unsupported).
  int channels = 3;
};

}  // namespace ffkit
