#include "draw/canvas.h"

#include <algorithm>
#include <cmath>

#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>

namespace ffkit {
namespace {

cv::Scalar scalar_of(Color color) {
  return {double(color[0]), double(color[1]), double(color[2])};
}

// The part of a line that lies within `rect`; false where there is none, or an end is not finite.
bool clip_line(const Rect& rect, double& x0, double& y0, double& x1, double& y1) {
  const double dx = x1 - x0;
  const double dy = y1 - y0;
  if (!std::isfinite(x0) || !std::isfinite(y0) || !std::isfinite(dx) || !std::isfinite(dy)) {
    return false;
  }
  // Liang-Barsky: the stretch of the line, 0 .. 1, that lies inside. (cv::clipLine counts in whole
  // pixels, and overflows far outside.)
  double begin = 0;
  double end = 1;
  const auto clip = [&](double from, double step, double low, double high) {
    if (step == 0) return from >= low && from <= high;
    const double a = (low - from) / step;
    const double b = (high - from) / step;
    begin = std::max(begin, std::min(a, b));
    end = std::min(end, std::max(a, b));
    return begin <= end;
  };
  if (!clip(x0, dx, rect.x, rect.x + rect.width - 1) ||
      !clip(y0, dy, rect.y, rect.y + rect.height - 1)) {
    return false;
  }
  x1 = x0 + end * dx;
  y1 = y0 + end * dy;
  x0 += begin * dx;
  y0 += begin * dy;
  return true;
}

}  // namespace

Canvas::Canvas(int width, int height, Color background)
    : pixels_(height, width, CV_8UC3, scalar_of(background)) {}

RgbView Canvas::view() const {
  return {pixels_.data, pixels_.cols, pixels_.rows, static_cast<ptrdiff_t>(pixels_.step[0])};
}

cv::Rect Canvas::within_canvas(const Rect& rect) const {
  return cv::Rect(rect.x, rect.y, rect.width, rect.height) & cv::Rect(0, 0, width(), height());
}

void Canvas::fill(const Rect& rect, Color color) {
  pixels_(within_canvas(rect)).setTo(scalar_of(color));
}

void Canvas::draw_crossed_box(const Rect& rect, Color color) {
  cv::rectangle(pixels_, cv::Rect(rect.x, rect.y, rect.width, rect.height), scalar_of(color));
  const double right = rect.x + rect.width - 1;
  const double bottom = rect.y + rect.height - 1;
  draw_line(rect, rect.x, rect.y, right, bottom, color);
  draw_line(rect, rect.x, bottom, right, rect.y, color);
}

void Canvas::draw_line(const Rect& within, double x0, double y0, double x1, double y1, Color color,
                       int thickness) {
  const cv::Rect inside = within_canvas(within);
  if (inside.empty() ||
      !clip_line({inside.x, inside.y, inside.width, inside.height}, x0, y0, x1, y1)) {
    return;
  }
  constexpr int kShift = 4;  // sixteenths of a pixel
  const auto at = [&](double x, double y) {
    return cv::Point(static_cast<int>(std::lround((x - inside.x) * (1 << kShift))),
                     static_cast<int>(std::lround((y - inside.y) * (1 << kShift))));
  };
  cv::Mat part = pixels_(inside);
  cv::line(part, at(x0, y0), at(x1, y1), scalar_of(color), thickness, cv::LINE_AA, kShift);
}

void Canvas::draw_dashed_line(const Rect& within, double x0, double y0, double x1, double y1,
                              Color color) {
  if (!clip_line(within, x0, y0, x1, y1)) return;
  constexpr double kPeriod = 8;
  constexpr double kDash = 4;
  const double length = std::hypot(x1 - x0, y1 - y0);
  for (double at = 0; at < length; at += kPeriod) {
    const double begin = at / length;
    const double end = std::min(at + kDash, length) / length;
    draw_line(within, x0 + begin * (x1 - x0), y0 + begin * (y1 - y0), x0 + end * (x1 - x0),
              y0 + end * (y1 - y0), color);
  }
}

void Canvas::draw_arrow(const Rect& within, double x0, double y0, double x1, double y1,
                        Color color) {
  draw_line(within, x0, y0, x1, y1, color);
  const double length = std::hypot(x1 - x0, y1 - y0);
  if (!(length > 0) || !std::isfinite(length)) return;
  const double head = std::min(6.0, length);
  const double ux = (x1 - x0) / length * head;
  const double uy = (y1 - y0) / length * head;
  draw_line(within, x1, y1, x1 - ux + uy / 2, y1 - uy - ux / 2, color);
  draw_line(within, x1, y1, x1 - ux - uy / 2, y1 - uy + ux / 2, color);
}

void Canvas::draw_picture(const ImageDecoder::Region& picture, const Rect& to) {
  const RgbView& view = picture.pixels;
  const int left = std::clamp(static_cast<int>(std::lround(picture.x)), 0, view.width - 1);
  const int top = std::clamp(static_cast<int>(std::lround(picture.y)), 0, view.height - 1);
  const int right = static_cast<int>(std::lround(picture.x + picture.width));
  const int bottom = static_cast<int>(std::lround(picture.y + picture.height));
  const cv::Rect from(left, top, std::clamp(right - left, 1, view.width - left),
                      std::clamp(bottom - top, 1, view.height - top));
  const bool is_smaller = to.width <= from.width && to.height <= from.height;
  cv::Mat part = pixels_(cv::Rect(to.x, to.y, to.width, to.height));
  cv::resize(as_mat(view)(from), part, part.size(), 0, 0,
             is_smaller ? cv::INTER_AREA : cv::INTER_NEAREST);
}

}  // namespace ffkit
