// Numbers of masks as colours.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/image/mask.h>

#include "draw/canvas.h"

namespace ffkit {

// The number of a pixel of a mask.
inline int64_t mask_number(const MaskView& mask, int x, int y) {
  const ptrdiff_t at = y * mask.stride + x;
  switch (mask.dtype) {
    case DType::u8:
      return static_cast<const uint8_t*>(mask.data)[at];
    case DType::u16:
      return static_cast<const uint16_t*>(mask.data)[at];
    default:
      return static_cast<const int32_t*>(mask.data)[at];
  }
}

// The colour of a number as VOC has it: its bits, from the lowest on, are the highest bits of red,
// green and blue in turn.
inline Color color_of_mask(int64_t number) {
  Color color = {0, 0, 0};
  for (int shift = 7; shift >= 0; --shift, number >>= 3) {
    for (size_t c = 0; c < 3; ++c) {
      color[c] = static_cast<uint8_t>(color[c] | ((number >> c & 1) << shift));
    }
  }
  return color;
}

}  // namespace ffkit
