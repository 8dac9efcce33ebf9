// ImageResizer: makes whole pictures larger or smaller, with Pillow's pixels (see Interpolation).
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <ffkit/base/enum_names.h>
#include <ffkit/image/image_codec.h>

namespace ffkit {

// Interpolation: the filter of a resize.

// bilinear, bicubic: Pillow's BILINEAR, and BICUBIC with a = -0.5, which are widened when they
// shrink a picture (antialiased). Pixels equal those of Pillow 13 exactly. Pillow up to 12 differs
// if the height shrinks by more than twice as many pixels as the width: bilinear values differ by
// at most one, and 0.1 % of the bicubic values of photographs by more than one.
//
// opencv_bilinear: exactly cv::resize() with INTER_LINEAR, for models trained with OpenCV's pixels.
// It is not widened: shrinking by more than two skips pixels. JPEGs are always decoded at full
// size. It needs a build with OpenCV; without it, validate() throws.
enum class Interpolation { bilinear, bicubic, opencv_bilinear };
template <>
inline constexpr auto kNames<Interpolation> = enum_names<Interpolation>(
    "interpolation", {{Interpolation::bilinear, "bilinear"},
                      {Interpolation::bicubic, "bicubic"},
                      {Interpolation::opencv_bilinear, "opencv_bilinear"}});

// Whether this build has the filter.
bool is_built(Interpolation interpolation);

// Resizes many pictures and keeps its memory between them. Not thread-safe: one per thread.
class ImageResizer {
 public:
  ImageResizer();
  ~ImageResizer();
  ImageResizer(ImageResizer&&) noexcept;
  ImageResizer& operator=(ImageResizer&&) noexcept;

  // Like Pillow's Image.resize((width, height)). The view lives until the next call. `pixels` must
  // have 64 readable bytes after the last row (RgbView), like the result, and must not be a result
  // of this resizer. Throws Error(invalid_argument) for a size below 1, Error(unsupported) for
  // OpenCV's filter; call cv::resize() for that one.
  RgbView resize(const RgbView& pixels, int width, int height,
                 Interpolation interpolation = Interpolation::bilinear);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
