// Labels: names of boxes in a part of a canvas, none of them over another one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "draw/canvas.h"

namespace ffkit {

struct LabelPlace {
  double x = 0;
  double y = 0;
};

class Labels {
 public:
  // With a `ground`, names stand on a field of that colour.
  Labels(Canvas& canvas, const Rect& within, const Color* ground)
      : canvas_(canvas), within_(within), ground_(ground) {}

  // No label is drawn there.
  void keep_free(const Rect& rect) { taken_.push_back(rect); }
  // Draws `text`, small, at the first of `places`, moved into the part, where it touches no other
  // label. Draws nothing where each of them does, or is not finite, or the part is too small.
  void draw(std::span<const LabelPlace> places, std::string_view text, Color color);
  // Draws how many of `num_boxes` have no name, in small text between `left` and `right`, where it
  // ends; nothing when all have theirs.
  void draw_count(int left, int right, int y, int64_t num_boxes) const;

 private:
  Canvas& canvas_;
  Rect within_;
  const Color* ground_;
  std::vector<Rect> taken_;
  int64_t num_drawn_ = 0;
};

}  // namespace ffkit
