// At which fraction of its size a part of a JPEG is decoded.
#pragma once

#include <cstdint>

#include <ffkit/image/image_info.h>

namespace ffkit {

// The largest of 1, 2, 4, 8 that leaves at least min_width x min_height of the region; 1 where both
// are 0.
inline int choose_denominator(const Rect& region, int min_width, int min_height) {
  if (min_width <= 0 && min_height <= 0) return 1;
  int denominator = 8;
  while (denominator > 1 && (region.width < int64_t{denominator} * min_width ||
                             region.height < int64_t{denominator} * min_height)) {
    denominator /= 2;
  }
  return denominator;
}

}  // namespace ffkit
