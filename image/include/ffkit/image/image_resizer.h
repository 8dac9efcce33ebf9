// ImageResizer: makes whole pictures larger or smaller, with Pillow's pixels (see Interpolation).
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <ffkit/image/image_codec.h>

namespace ffkit {

// Interpolation: the filter of a resize.

// bilinear, bicubic: Pillow's BILINEAR, and BICUBIC with a = -0.5, which are widened when they
// shrink a picture (antialiased). Pixels are those of Pillow 13 to the bit. Pillow up to 12 has
// others where the height shrinks by more than twice as many pixels as the width: bilinear values
// differ by at most one, and 0.1 % of the bicubic values of photographs by more than one.
//
// opencv_bilinear: cv::resize() with INTER_LINEAR, to the bit, for models that were trained with
// OpenCV's pixels. It is not widened: shrinking by more than two leaves pixels out. JPEGs are
// decoded at full size, whatever scaled_decode says. It needs a build with OpenCV; without it,
// validate() throws.
enum class Interpolation { bilinear, bicubic, opencv_bilinear };
inline constexpr std::array kInterpolations = {Interpolation::bilinear, Interpolation::bicubic,
                                               Interpolation::opencv_bilinear};

// The names above.
std::string_view to_string(Interpolation interpolation);
// Throws Error(invalid_argument) for another name.
Interpolation parse_interpolation(std::string_view name);

// Whether this build has the filter.
bool is_built(Interpolation interpolation);

// Resizes one picture after another and keeps its memory between them. Not thread-safe: one per
// thread.
class ImageResizer {
 public:
  ImageResizer();
  ~ImageResizer();
  ImageResizer(ImageResizer&&) noexcept;
  ImageResizer& operator=(ImageResizer&&) noexcept;

  // Pillow's Image.resize((width, height)) of `pixels`. The view lives until the next call.
  // `pixels` must have 64 readable bytes behind the last row (RgbView), as the result has, and must
  // not be a result of this resizer. Throws Error(invalid_argument) for a size below 1,
  // Error(unsupported) for OpenCV's filter; call cv::resize() for that one.
  RgbView resize(const RgbView& pixels, int width, int height,
                 Interpolation interpolation = Interpolation::bilinear);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
