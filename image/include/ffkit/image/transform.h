// Transforms: from an encoded image to its place in the batch. Plain options; named and
// parametrised as in torchvision.
#pragma once

#include <cstdint>
#include <variant>

#include <ffkit/image/image_output.h>
#include <ffkit/image/interpolation.h>
#include <ffkit/image/random.h>
#include <ffkit/image/rgb_image.h>

namespace ffkit {

// Pixels added at each side; of one number, the same at all.
struct Padding {
  constexpr Padding(int64_t all) : left(all), top(all), right(all), bottom(all) {}
  constexpr Padding(int64_t l, int64_t t, int64_t r, int64_t b)
      : left(l), top(t), right(r), bottom(b) {}
  bool operator==(const Padding&) const = default;

  int64_t left;
  int64_t top;
  int64_t right;
  int64_t bottom;
};

// torchvision.transforms.RandomResizedCrop + RandomHorizontalFlip: a crop of random area and aspect
// ratio (log-uniform), ten tries, then the central crop; resized to `size`.
struct RandomResizedCrop {
  ImageSize size = 224;
  double scale_min = 0.08;  // share of the image's area, 0 < scale_min <= scale_max <= 1
  double scale_max = 1.0;
  double ratio_min = 3.0 / 4.0;  // width / height
  double ratio_max = 4.0 / 3.0;
  double flip_probability = 0.5;
  // Decode JPEGs at 1/2, 1/4 or 1/8 size when the crop is still at least as large as `size` at that
  // scale. Faster for large images. On crops of ImageNet photographs to which this applied (2 % of
  // them), values of 0 .. 255 differed from the exact ones by 1.3 in the mean (5.4 in the worst
  // crop), 98.4 % of them by at most 8, the most by 51; bicubic ones, on other such crops, by 1.4
  // (bilinear there: 1.2) in the mean, 6.9 in the worst crop, 98.2 % by at most 8, the most by 60.
  // False: exactly as Pillow.
  bool scaled_decode = true;
  Interpolation interpolation = Interpolation::bilinear;
};

// torchvision.transforms.Resize(resize) + CenterCrop(size) as models are evaluated: the short side
// becomes `resize`, then the central `size`. An image smaller than that after the resize is padded
// with zeros, as torchvision does.
struct ResizeCenterCrop {
  int64_t resize = 256;
  ImageSize size = 224;
  Interpolation interpolation = Interpolation::bilinear;
};

// torchvision.transforms.Resize((height, width)): the whole image, its aspect ratio not kept.
struct Resize {
  ImageSize size = 224;
  Interpolation interpolation = Interpolation::bilinear;
};

// torchvision.transforms.RandomCrop(size, padding, pad_if_needed=True, fill) +
// RandomHorizontalFlip: the image, padded with `fill`, then a crop of it, every place equally
// likely. Nothing is resized. Where the padded image is d pixels less high (or wide) than `size`, d
// more are added at both sides, as torchvision's pad_if_needed does. CIFAR: {.size = 32, .padding =
// 4}.
struct RandomCrop {
  ImageSize size = 32;
  Padding padding = 0;  // 0 .. 8192 each
  RgbColor fill = {0, 0, 0};
  double flip_probability = 0.5;
};

// What detectors from vehicles' cameras do (ImageAug3D of BEVFusion, without its rotation): the
// image times a factor, then a crop of `size` whose lower edge is the image's, or lies above it,
// and whose place across is drawn. What lies outside of the image is black. image_map() says where
// its pixels went, for intrinsics to follow.
struct ResizeCrop {
  ImageSize size = {256, 704};
  // Of width and height, 0 < factor_min <= factor_max <= 16; truncated to whole pixels.
  double factor_min = 0.48;
  double factor_max = 0.48;
  // Share of the resized height left out below the crop, 0 <= bottom_min <= bottom_max < 1.
  double bottom_min = 0;
  double bottom_max = 0;
  bool centered = true;  // across: in the middle, or at a place drawn uniformly
  double flip_probability = 0;
  // As RandomResizedCrop's.
  bool scaled_decode = true;
  Interpolation interpolation = Interpolation::bilinear;
};

// What BEVFormer does: the whole picture as floats, normalised, times a factor, then zeros at the
// bottom and right up to `size`. The filter is that of cv::resize with INTER_LINEAR on floats, in a
// build without OpenCV as well: not widened when it shrinks, and not rounded to 8 bits. Values
// differ from OpenCV's by 1e-6 of the largest one at most. JPEGs are decoded at full size. A
// picture that is larger than `size` after the resize is an Error(unsupported). The output is f32,
// f16 or bf16.
struct ScalePad {
  ImageSize size = {480, 800};
  double factor = 0.5;  // of width and height, 0 < factor <= 16; truncated to whole pixels
};

using ImageTransform =
    std::variant<RandomResizedCrop, ResizeCenterCrop, Resize, RandomCrop, ResizeCrop, ScalePad>;

// Where a pixel of the image went: x -> scale_x * x + offset_x, y alike; coordinates count from the
// edge of the first pixel. A mirrored image has a negative scale_x.
struct ImageMap {
  double scale_x = 1;
  double scale_y = 1;
  double offset_x = 0;
  double offset_y = 0;
};
// Of an image of width x height pixels that a sample with this key has.
ImageMap image_map(const ResizeCrop& crop, int width, int height, const SampleKey& key);
// Of any image: the factor itself, as BEVFormer scales intrinsics, although the number of pixels
// was truncated.
ImageMap image_map(const ScalePad& pad);

// Of what the transform makes of any image.
ImageSize image_size(const ImageTransform& transform);
// Of its resize; bilinear for RandomCrop, which resizes nothing, and for ScalePad, which has a
// filter of its own.
Interpolation interpolation_of(const ImageTransform& transform);
// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const ImageTransform& transform, const ImageOutput& output);

}  // namespace ffkit
