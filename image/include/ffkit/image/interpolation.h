// Interpolation: the filter of a resize.
#pragma once

namespace ffkit {

// Widened when shrinking (antialiased): Pillow's BILINEAR, and BICUBIC with a = -0.5. Pixels are those of Pillow 13 to the
// bit. Pillow up to 12 has others where the height shrinks by more than twice as many pixels as the width, which Pillow 13 resizes vertically first: bilinear
// values are one away at most, of bicubic ones of photographs 0.1 % more than one.
enum class Interpolation { bilinear, bicubic };

}  // namespace ffkit
