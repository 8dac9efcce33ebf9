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
  // Decode JPEGs at 1/2, 1/4 or 1/8 size when the crop is still at least size x size at that scale. Faster for large images. On
  // crops of ImageNet photographs to which this applied (2 % of them), values of 0 .. 255 differed from the exact ones by 1.3
  // in the mean (5.4 in the worst crop), 98.4 % of them by at most 8, the most by 51. False: exactly as Pillow.
  bool scaled_decode = true;
};

// torchvision.transforms.Resize(resize) + CenterCrop(size) as models are evaluated: the short side becomes `resize`, antialiased
// bilinear, then the central size x size. The pixels are Pillow's to the bit (one level away at most where Pillow 13 resizes
// vertically first: heights that shrink by more than twice as many pixels as widths). An image smaller than that after the
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
  // (pixel / 255 - mean) / std per channel; without it pixel / 255, and for u8 the pixel itself. u8 takes no normalisation (Error(invalid_argument) when it is asked for).
  bool normalize = true;
  std::array<float, 3> mean = {0.485F, 0.456F,
                               0.406F};  // ImageNet's, as torchvision's models expect
  std::array<float, 3> std = {0.229F, 0.224F, 0.225F};
};

// From an encoded image to its place in the batch.
struct ImageOptions {
  ImageTransform transform = RandomResizedCrop{};
  ImageOutput output;
};

// Output height and width in pixels.
int64_t output_size(const ImageTransform& transform);
// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const ImageTransform& transform, const ImageOutput& output);

}  // namespace ffkit
