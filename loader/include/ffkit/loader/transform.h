// Transforms: from an encoded image to its place in the batch. Plain options; named and parametrised as in torchvision.
#pragma once

#include <array>
#include <cstdint>
#include <variant>

#include <ffkit/format/schema.h>

namespace ffkit {

// torchvision.transforms.RandomResizedCrop + RandomHorizontalFlip: a crop of random area and aspect ratio (log-uniform), ten
// tries, then the central crop; resized with an antialiased bilinear filter to size x size.
struct RandomResizedCrop {
  int64_t size = 224;
  double scale_min = 0.08;  // share of the image's area, 0 < scale_min <= scale_max <= 1
  double scale_max = 1.0;
  double ratio_min = 3.0 / 4.0;  // width / height
  double ratio_max = 4.0 / 3.0;
  double flip_probability = 0.5;
  // Decode JPEGs at 1/2, 1/4 or 1/8 size when the crop is still larger than `size` at that scale. Faster; pixels differ
  // slightly from decoding at full size. False: exactly as Pillow would.
  bool scaled_decode = true;
};

// torchvision.transforms.Resize(resize) + CenterCrop(size) as models are evaluated: the short side becomes `resize`, antialiased
// bilinear as Pillow's (at most one level of 255 away from it), then the central size x size. An image smaller than that after the
// resize is padded with zeros, as torchvision does.
struct ResizeCenterCrop {
  int64_t resize = 256;
  int64_t size = 224;
};

using ImageTransform = std::variant<RandomResizedCrop, ResizeCenterCrop>;

enum class Layout { nchw, nhwc };

// How pixels are written into the batch.
struct ImageOutput {
  DType dtype = DType::f32;  // u8, f16, bf16 or f32
  Layout layout = Layout::nchw;
  // (pixel / 255 - mean) / std per channel; u8 takes no normalisation (Error(invalid_argument) when it is asked for).
  bool normalize = true;
  std::array<float, 3> mean = {0.485F, 0.456F, 0.406F};  // ImageNet's, as torchvision's models expect
  std::array<float, 3> std = {0.229F, 0.224F, 0.225F};
};

// Output height and width in pixels.
int64_t output_size(const ImageTransform& transform);
// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const ImageTransform& transform, const ImageOutput& output);

}  // namespace ffkit
