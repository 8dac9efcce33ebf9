#include "canvas.h"

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
