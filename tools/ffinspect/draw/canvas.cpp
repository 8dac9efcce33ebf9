#include "draw/canvas.h"

#include <algorithm>
#include <cmath>

namespace ffkit {
namespace {

// The input pixels that one output pixel covers, and how much of each.
struct Cover {
  int first = 0;
  std::vector<float> weights;  // their sum is 1
};

// Output pixel i of `count` covers `extent` / count input pixels from `begin` on, within [0, limit).
std::vector<Cover> make_covers(double begin, double extent, int limit, int count) {
  std::vector<Cover> covers(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    Cover& cover = covers[static_cast<size_t>(i)];
    const double low = std::clamp(begin + extent * i / count, 0.0, limit - 1e-6);
    const double high = std::clamp(begin + extent * (i + 1) / count, low + 1e-6, double(limit));
    cover.first = static_cast<int>(low);
    const int last = std::min(limit - 1, static_cast<int>(std::ceil(high)) - 1);
    for (int k = cover.first; k <= std::max(last, cover.first); ++k) {
      const double share = std::min(high, k + 1.0) - std::max(low, double(k));
      cover.weights.push_back(static_cast<float>(share / (high - low)));
    }
  }
  return covers;
}

}  // namespace

Canvas::Canvas(int width, int height, Color background)
    : width_(width),
      height_(height),
      rgb_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3) {
  fill({0, 0, width, height}, background);
}

RgbView Canvas::view() const {
  return {rgb_.data(), width_, height_, ptrdiff_t{3} * width_};
}

uint8_t* Canvas::at(int x, int y) {
  return &rgb_[(static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) * 3];
}

void Canvas::fill(const Rect& rect, Color color) {
  for (int y = std::max(0, rect.y); y < std::min(height_, rect.y + rect.height); ++y) {
    for (int x = std::max(0, rect.x); x < std::min(width_, rect.x + rect.width); ++x) {
      std::ranges::copy(color, at(x, y));
    }
  }
}

void Canvas::draw_crossed_box(const Rect& rect, Color color) {
  fill({rect.x, rect.y, rect.width, 1}, color);
  fill({rect.x, rect.y + rect.height - 1, rect.width, 1}, color);
  fill({rect.x, rect.y, 1, rect.height}, color);
  fill({rect.x + rect.width - 1, rect.y, 1, rect.height}, color);
  const int steps = std::max(rect.width, rect.height);
  for (int i = 0; i < steps; ++i) {
    const int x = i * rect.width / steps;
    const int y = i * rect.height / steps;
    fill({rect.x + x, rect.y + y, 1, 1}, color);
    fill({rect.x + rect.width - 1 - x, rect.y + y, 1, 1}, color);
  }
}

void Canvas::draw_line(const Rect& within, double x0, double y0, double x1, double y1,
                       Color color) {
  const int left = std::max(0, within.x);
  const int top = std::max(0, within.y);
  const int right = std::min(width_, within.x + within.width) - 1;
  const int bottom = std::min(height_, within.y + within.height) - 1;
  // Liang-Barsky: the stretch of the line, 0 .. 1, that lies inside.
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
  const double dx = x1 - x0;
  const double dy = y1 - y0;
  if (!std::isfinite(x0) || !std::isfinite(y0) || !std::isfinite(dx) || !std::isfinite(dy)) return;
  if (!clip(x0, dx, left, right) || !clip(y0, dy, top, bottom)) return;
  const double length = std::max(std::fabs(dx), std::fabs(dy)) * (end - begin);
  const int steps = std::max(1, static_cast<int>(std::ceil(length)));
  for (int i = 0; i <= steps; ++i) {
    const double t = begin + (end - begin) * i / steps;
    const int x = std::clamp(static_cast<int>(std::lround(x0 + t * dx)), left, right);
    const int y = std::clamp(static_cast<int>(std::lround(y0 + t * dy)), top, bottom);
    std::ranges::copy(color, at(x, y));
  }
}

void Canvas::draw_picture(const ImageDecoder::Region& picture, const Rect& to) {
  const RgbView& pixels = picture.pixels;
  const auto columns = make_covers(picture.x, picture.width, pixels.width, to.width);
  const auto rows = make_covers(picture.y, picture.height, pixels.height, to.height);
  std::vector<float> line;  // one output row before the horizontal pass
  for (int y = 0; y < to.height; ++y) {
    const Cover& row = rows[static_cast<size_t>(y)];
    line.assign(static_cast<size_t>(pixels.width) * 3, 0);
    for (size_t k = 0; k < row.weights.size(); ++k) {
      const uint8_t* source = pixels.data + (row.first + static_cast<int>(k)) * pixels.stride;
      for (size_t i = 0; i < line.size(); ++i) line[i] += row.weights[k] * source[i];
    }
    uint8_t* out = at(to.x, to.y + y);
    for (const Cover& column : columns) {
      float sum[3] = {};
      for (size_t k = 0; k < column.weights.size(); ++k) {
        const float* source = &line[3 * (static_cast<size_t>(column.first) + k)];
        for (size_t c = 0; c < 3; ++c) sum[c] += column.weights[k] * source[c];
      }
      for (const float value : sum) *out++ = static_cast<uint8_t>(std::lround(value));
    }
  }
}

}  // namespace ffkit
