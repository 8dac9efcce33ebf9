// WideResizer: Pillow's antialiased resize of pixels of 16 bits, as that of its mode I;16: sums of
// doubles, rounded to 16 bits after each pass. What it makes too small or too large is 0 or 65535.
//
// Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/image/image_info.h>
#include <ffkit/image/interpolation.h>

#include "resize/axis_weights.h"

namespace ffkit {

class WideResizer {
 public:
  // Of a picture of width x height pixels that becomes resized_width x resized_height, `taken` is
  // wanted. Returns the part of the picture that it is made from.
  Rect plan(int width, int height, int resized_width, int resized_height, const Rect& taken,
            Interpolation interpolation);
  // Writes [taken.height, taken.width, 3] without gaps. `pixels` is what plan() returned last.
  void run(const WideRgbView& pixels, uint16_t* out);

 private:
  struct Axis {
    struct Taps {
      int first;  // counted from `begin`
      size_t offset;
      int count;
    };
    void build(const AxisStretch& stretch, Interpolation interpolation);

    int begin = 0;
    int end = 0;
    std::vector<Taps> taps;
    std::vector<double> weights;
    std::vector<double> scratch;
  };

  static void horizontal(const WideRgbView& pixels, const Axis& axis, uint16_t* out);
  static void vertical(const WideRgbView& pixels, const Axis& axis, uint16_t* out);

  Axis x_;
  Axis y_;
  bool is_vertical_first_ = false;
  std::vector<uint16_t> between_;
};

}  // namespace ffkit
