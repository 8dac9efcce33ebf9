// Interpolation: the filter of a resize.
#pragma once

#include <array>
#include <string_view>

namespace ffkit {

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

}  // namespace ffkit
