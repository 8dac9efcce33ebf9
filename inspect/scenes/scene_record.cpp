#include "scenes/scene_record.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <ffkit/nuscenes/classes.h>

#include "draw/text.h"

namespace ffkit {
namespace {

using namespace nuscenes;

constexpr Color kOther = {150, 70, 190};
constexpr int64_t kHidden = 1;  // of boxes/visibility

// By position in kClasses.
constexpr std::array<Color, kClasses.size()> kClassColors = {{{255, 140, 0},
                                                              {255, 99, 71},
                                                              {200, 120, 40},
                                                              {255, 69, 180},
                                                              {230, 190, 0},
                                                              {112, 128, 144},
                                                              {220, 20, 60},
                                                              {0, 170, 120},
                                                              {40, 90, 255},
                                                              {60, 60, 60}}};

}  // namespace

Color color_of_class(int64_t class_number) {
  if (class_number < 0 || class_number >= std::ssize(kClasses)) return kOther;
  return kClassColors[class_number];
}

std::vector<SeenBox> read_boxes(const Keyframe& record) {
  std::vector<SeenBox> boxes;
  if (!record.has(keyframe::kBoxGlobal)) return boxes;
  const auto numbers = record.numbers<double>(keyframe::kBoxGlobal);
  const auto velocities = record.numbers<double>(keyframe::kBoxVelocity);
  const auto classes = record.numbers<int64_t>(keyframe::kBoxClass);
  const auto visibility = record.numbers<int64_t>(keyframe::kBoxVisibility);
  const ListView categories = record.field(keyframe::kBoxCategory).list();
  const size_t count = classes.size();
  if (numbers.size() != count * 10 || velocities.size() != count * 3 ||
      visibility.size() != count || categories.size() != count) {
    throw Error(ErrorCode::corrupt, "there are not as many boxes as classes of boxes");
  }
  for (size_t i = 0; i < count; ++i) {
    const double* n = &numbers[i * 10];
    const double* v = &velocities[i * 3];
    SeenBox& seen = boxes.emplace_back();
    seen.box = {.center = {n[0], n[1], n[2]},
                .size = {n[3], n[4], n[5]},
                .rotation = {n[6], n[7], n[8], n[9]},
                .velocity = {v[0], v[1], v[2]}};
    seen.class_number = classes[i];
    seen.color = color_of_class(classes[i]);
    seen.is_hidden = visibility[i] == kHidden;
    if (classes[i] >= 0 && classes[i] < std::ssize(kClasses)) {
      seen.name = kClasses[classes[i]];
    } else {
      const std::string_view category = categories.string(i);
      seen.name = category.substr(category.rfind('.') + 1);
    }
  }
  return boxes;
}

void draw_dashed_line(Canvas& canvas, const Rect& within, double x0, double y0, double x1,
                      double y1, Color color) {
  if (!clip_line(within, x0, y0, x1, y1)) return;
  constexpr double kPeriod = 8;
  constexpr double kDash = 4;
  const double length = std::hypot(x1 - x0, y1 - y0);
  for (double at = 0; at < length; at += kPeriod) {
    const double begin = at / length;
    const double end = std::min(at + kDash, length) / length;
    canvas.draw_line(within, x0 + begin * (x1 - x0), y0 + begin * (y1 - y0), x0 + end * (x1 - x0),
                     y0 + end * (y1 - y0), color);
  }
}

void draw_arrow(Canvas& canvas, const Rect& within, double x0, double y0, double x1, double y1,
                Color color) {
  canvas.draw_line(within, x0, y0, x1, y1, color);
  const double length = std::hypot(x1 - x0, y1 - y0);
  if (!(length > 0) || !std::isfinite(length)) return;
  const double head = std::min(6.0, length);
  const double ux = (x1 - x0) / length * head;
  const double uy = (y1 - y0) / length * head;
  canvas.draw_line(within, x1, y1, x1 - ux + uy / 2, y1 - uy - ux / 2, color);
  canvas.draw_line(within, x1, y1, x1 - ux - uy / 2, y1 - uy + ux / 2, color);
}

}  // namespace ffkit
