// Interpolation: the filter of a resize.
#pragma once

#include <array>
#include <string_view>

namespace ffkit {

// bilinear, bicubic: widened when shrinking (antialiased), as Pillow's BILINEAR, and BICUBIC with a
// = -0.5. Pixels are those of Pillow 13 to the bit. Pillow up to 12 has others where the height
// shrinks by more than twice as many pixels as the width, which Pillow 13 resizes vertically first:
// bilinear values are one away at most, of bicubic ones of photographs 0.1 % more than one.
//
// opencv_bilinear: cv::resize with INTER_LINEAR, to the bit: not widened, so that shrinking by more
// than two leaves pixels out. For models that were trained with OpenCV's pixels. JPEGs are decoded
// at full size, whatever scaled_decode says. Needs a build with OpenCV; validate() says so
// otherwise.
enum class Interpolation { bilinear, bicubic, opencv_bilinear };
inline constexpr std::array kInterpolations = {Interpolation::bilinear, Interpolation::bicubic,
                                               Interpolation::opencv_bilinear};

// As written above.
std::string_view to_string(Interpolation interpolation);
// Throws Error(invalid_argument) for another name.
Interpolation parse_interpolation(std::string_view name);

// Whether this build makes these pixels.
bool is_built(Interpolation interpolation);

}  // namespace ffkit
