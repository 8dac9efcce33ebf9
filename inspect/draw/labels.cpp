#include "draw/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/text.h"

namespace ffkit {
namespace {

bool overlap(const Rect& a, const Rect& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

}  // namespace

void Labels::draw(std::span<const LabelPlace> places, std::string_view text, Color color) {
  Rect rect{.width = text_width(text, kSmallText) + 2, .height = kSmallText};
  if (rect.width > within_.width || rect.height > within_.height) return;
  for (const LabelPlace& place : places) {
    if (!std::isfinite(place.x) || !std::isfinite(place.y)) continue;
    rect.x = static_cast<int>(
        std::clamp<double>(place.x, within_.x, within_.x + within_.width - rect.width));
    rect.y = static_cast<int>(
        std::clamp<double>(place.y, within_.y, within_.y + within_.height - rect.height));
    const auto touches = [&](const Rect& other) { return overlap(rect, other); };
    if (std::any_of(taken_.begin(), taken_.end(), touches)) continue;
    if (ground_ != nullptr) canvas_.fill(rect, *ground_);
    draw_text(canvas_, rect.x + 1, rect.y, text, kSmallText, color);
    taken_.push_back(rect);
    ++num_drawn_;
    return;
  }
}

void Labels::draw_count(int left, int right, int y, int64_t num_boxes) const {
  const int64_t num_without = num_boxes - num_drawn_;
  if (num_without <= 0) return;
  for (const char* words : {"{} of {} boxes without their name", "{} of {} unnamed", "{}/{}"}) {
    const std::string text = fmt::format(fmt::runtime(words), num_without, num_boxes);
    const int begin = right - text_width(text, kSmallText);
    if (begin < left) continue;
    draw_text(canvas_, begin, y, text, kSmallText, {90, 90, 90});
    return;
  }
}

}  // namespace ffkit
