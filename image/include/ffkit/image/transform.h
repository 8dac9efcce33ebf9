// Transforms: bring a picture to the size of the batch. Plain options with torchvision's names and
// parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/image_resizer.h>
#include <ffkit/image/random.h>

namespace ffkit {

// torchvision.transforms.RandomResizedCrop: a crop of random area and aspect ratio (log-uniform) is
// resized to `size`. After ten crops that do not fit, it is the central one.
struct RandomResizedCrop {
  ImageSize size = 224;
  double scale_min = 0.08;  // share of the picture's area, 0 < scale_min <= scale_max <= 1
  double scale_max = 1.0;
  double ratio_min = 3.0 / 4.0;  // width / height
  double ratio_max = 4.0 / 3.0;
  double flip_probability = 0;  // of mirroring it left and right, which torchvision's never does
  // JPEGs are decoded at 1/2, 1/4 or 1/8 of their size if the crop is still at least as large as
  // `size` at that scale. This is faster for large pictures, and changes pixels a little. It
  // applied to 2 % of the crops of ImageNet photographs. Their values of 0 .. 255 differed from the
  // exact ones by 1.3 on average (5.4 in the worst crop) and by at most 51; 98.4 % differed by at
  // most 8. Bicubic values differed by 1.4 on average (6.9 in the worst crop) and by at most 60;
  // 98.2 % differed by at most 8. False: exactly Pillow's pixels.
  bool scaled_decode = true;
  Interpolation interpolation = Interpolation::bilinear;
};

// torchvision.transforms.Resize(resize) + CenterCrop(size), the usual transform for evaluation: the
// short side becomes `resize`, then the central `size` is taken. If that is larger than the
// picture, it is padded with zeros, as in torchvision.
struct ResizeCenterCrop {
  int64_t resize = 256;
  ImageSize size = 224;
  Interpolation interpolation = Interpolation::bilinear;
};

// One number: the short side; the aspect ratio stays. Two numbers: height and width. nothing():
// only Resize::max_size counts.
struct ResizeSize {
  constexpr ResizeSize(int64_t short_length) : short_side(short_length) {}
  constexpr ResizeSize(int64_t height, int64_t width) : both(ImageSize(height, width)) {}
  constexpr ResizeSize(ImageSize size) : both(size) {}
  static constexpr ResizeSize nothing() { return {0}; }
  bool operator==(const ResizeSize&) const = default;

  int64_t short_side = 0;
  std::optional<ImageSize> both = {};
};

// torchvision.transforms.Resize: the whole picture.
struct Resize {
  ResizeSize size = {224, 224};
  Interpolation interpolation = Interpolation::bilinear;
  // With a short side: the longest long side. Without a size: the length of the long side.
  int64_t max_size = 0;  // 0: any; else more than the short side
};

// torchvision.transforms.RandomCrop: the picture is padded with `fill`, and a crop is taken; all
// places are equally likely. Nothing is resized. For CIFAR: {.size = 32, .padding = 4}.
struct RandomCrop {
  ImageSize size = 32;
  Padding padding = 0;  // 0 .. 8192 each
  // If the padded picture is d pixels lower (or narrower) than `size`, d more are added at both
  // sides. False: it is a bad sample, Error(unsupported).
  bool pad_if_needed = false;
  RgbColor fill = {0, 0, 0};
  double flip_probability = 0;  // as RandomResizedCrop's
};

// The transform of detectors for vehicle cameras (ImageAug3D of BEVFusion without rotation).
// Resizes the picture by a factor, then takes a crop of `size` at or above its lower edge. Pixels
// outside of the picture are black. image_map() maps pixels, so that intrinsics can follow.
struct ResizeCrop {
  ImageSize size = {256, 704};
  // The factor is drawn, 0 < factor_min <= factor_max <= 16. Sizes are truncated to whole pixels.
  double factor_min = 0.48;
  double factor_max = 0.48;
  // The share of the resized height below the crop is drawn, 0 <= bottom_min <= bottom_max < 1.
  double bottom_min = 0;
  double bottom_max = 0;
  bool centered = true;  // horizontally: in the middle, or at a place drawn uniformly
  double flip_probability = 0;
  bool scaled_decode = true;  // as RandomResizedCrop's
  Interpolation interpolation = Interpolation::bilinear;
};

// BEVFormer's transform: converts the picture to floats, normalises it, resizes it by a factor, and
// adds zeros at the bottom and right up to `size`. The filter is that of cv::resize() with
// INTER_LINEAR on floats, also in a build without OpenCV: it is not widened, and does not round.
// Values differ from OpenCV's by at most 1e-6 of the largest one. JPEGs are decoded at full size. A
// picture larger than `size` after the resize is Error(unsupported). The output is f32, f16 or
// bf16.
struct ScalePad {
  ImageSize size = {480, 800};
  double factor = 0.5;  // 0 < factor <= 16; sizes are truncated to whole pixels
};

using GeometryStep =
    std::variant<RandomResizedCrop, ResizeCenterCrop, Resize, RandomCrop, ResizeCrop,
                 RandomHorizontalFlip, RandomVerticalFlip, RandomRotation, RandomAffine,
                 RandomPerspective, Pad, RandomZoomOut, RandomIoUCrop, ScaleJitter, FixedSizeCrop,
                 CenterCrop, RandomShortestSize, PadToLargest>;

// Several steps, one after the other. Consecutive crops, resizes, flips and padding become one
// operation, if that changes no pixel. The result must have the same size for all pictures, .steps
// = {ScaleJitter{}, FixedSizeCrop{}}, or end with PadToLargest. The n-th step of a kind has its own
// random numbers, which do not depend on steps of other kinds.
struct Compose {
  std::vector<GeometryStep> steps;
};

using ImageTransform = std::variant<RandomResizedCrop, ResizeCenterCrop, Resize, RandomCrop,
                                    ResizeCrop, ScalePad, Compose>;

// Maps a pixel of the picture: x becomes scale_x * x + offset_x, and y likewise. (0, 0) is the top
// left corner of the top left pixel. A mirrored picture has a negative scale_x.
struct ImageMap {
  double scale_x = 1;
  double scale_y = 1;
  double offset_x = 0;
  double offset_y = 0;
};
// With the random numbers of this key, for a picture of width x height pixels.
ImageMap image_map(const ResizeCrop& crop, int width, int height, const SampleKey& key);
// For any picture: the exact factor, as BEVFormer scales intrinsics, although sizes are truncated.
ImageMap image_map(const ScalePad& pad);

// The size of the output. Throws Error(invalid_argument) for a Compose or a Resize that has none.
ImageSize image_size(const ImageTransform& transform);
// Whether two pictures of one size may become different ones.
bool is_random(const ImageTransform& transform);
// Whether it has a RandomIoUCrop, which takes the boxes that follow the view.
bool needs_boxes(const ImageTransform& transform);
// Whether it has a RandomResizedCrop or RandomCrop without flips.
bool crops_without_flips(const ImageTransform& transform);
// The PadToLargest that it ends with; null without.
const PadToLargest* padding_of(const ImageTransform& transform);
// Throws Error(invalid_argument) that names the first value out of range.
void validate(const ImageTransform& transform, const ImageOutput& output);

}  // namespace ffkit
