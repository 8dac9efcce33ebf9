#include "moves/moves.h"

#include <algorithm>
#include <cmath>

#include <ffkit/image/image_options.h>

namespace ffkit {
namespace {

ViewMatrix product(const ViewMatrix& a, const ViewMatrix& b) {
  ViewMatrix c = {};
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 3; ++column) {
      for (size_t k = 0; k < 3; ++k) c[3 * row + column] += a[3 * row + k] * b[3 * k + column];
    }
  }
  return c;
}

ViewMatrix inverse(const ViewMatrix& m) {
  const auto minor = [&](size_t a, size_t b, size_t c, size_t d) {
    return m[a] * m[d] - m[b] * m[c];
  };
  ViewMatrix adjugate = {minor(4, 5, 7, 8), minor(2, 1, 8, 7), minor(1, 2, 4, 5),
                         minor(5, 3, 8, 6), minor(0, 2, 6, 8), minor(2, 0, 5, 3),
                         minor(3, 4, 6, 7), minor(1, 0, 7, 6), minor(0, 1, 3, 4)};
  const double determinant = m[0] * adjugate[0] + m[1] * adjugate[3] + m[2] * adjugate[6];
  // A matrix of points is the same when it is scaled; 1 at its end is how people write it.
  const double scale = adjugate[8] != 0 ? adjugate[8] : determinant;
  for (double& value : adjugate) value /= scale;
  return adjugate;
}

int right_of(const Rect& rect) {
  return rect.x + rect.width;
}
int bottom_of(const Rect& rect) {
  return rect.y + rect.height;
}

// One inside of the other; of width 0 where they do not meet.
Rect common(const Rect& a, const Rect& b) {
  const int x = std::max(a.x, b.x);
  const int y = std::max(a.y, b.y);
  const Rect rect{x, y, std::min(right_of(a), right_of(b)) - x,
                  std::min(bottom_of(a), bottom_of(b)) - y};
  return rect.width > 0 && rect.height > 0 ? rect : Rect{};
}

bool is_within(const Rect& inner, const Rect& outer) {
  return inner.x >= outer.x && inner.y >= outer.y && right_of(inner) <= right_of(outer) &&
         bottom_of(inner) <= bottom_of(outer);
}

ImageMap composed(const ImageMap& first, const ImageMap& next) {
  return {.scale_x = next.scale_x * first.scale_x,
          .scale_y = next.scale_y * first.scale_y,
          .offset_x = next.scale_x * first.offset_x + next.offset_x,
          .offset_y = next.scale_y * first.offset_y + next.offset_y};
}

}  // namespace

ViewMatrix Move::matrix() const {
  if (const auto* plan = std::get_if<CropPlan>(&what)) {
    const ImageMap& map = plan->map;
    return {map.scale_x, 0, map.offset_x, 0, map.scale_y, map.offset_y, 0, 0, 1};
  }
  if (const auto* warp = std::get_if<Warp>(&what)) return inverse(warp->source);
  return {1, 0, 0, 0, -1, static_cast<double>(size.height), 0, 0, 1};
}

ViewMatrix matrix_of(const Moves& moves) {
  ViewMatrix all = moves.front().matrix();
  for (size_t i = 1; i < moves.size(); ++i) all = product(moves[i].matrix(), all);
  return all;
}

std::array<double, 2> map_point(const ViewMatrix& m, double x, double y) {
  const double w = m[6] * x + m[7] * y + m[8];
  return {(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w};
}

BoxEdges map_box(const ViewMatrix& matrix, const BoxEdges& box) {
  BoxEdges mapped = {INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (const size_t x : {0, 2}) {
    for (const size_t y : {1, 3}) {
      const auto [u, v] = map_point(matrix, box[x], box[y]);
      mapped = {std::min(mapped[0], u), std::min(mapped[1], v), std::max(mapped[2], u),
                std::max(mapped[3], v)};
    }
  }
  return mapped;
}

BoxEdges clipped(const BoxEdges& box, ImageSize size) {
  const auto width = static_cast<double>(size.width);
  const auto height = static_cast<double>(size.height);
  return {std::clamp(box[0], 0.0, width), std::clamp(box[1], 0.0, height),
          std::clamp(box[2], 0.0, width), std::clamp(box[3], 0.0, height)};
}

double area_of(const BoxEdges& box) {
  return (box[2] - box[0]) * (box[3] - box[1]);
}

bool is_centre_within(const BoxEdges& box, const BoxEdges& area) {
  const double x = 0.5 * (box[0] + box[2]);
  const double y = 0.5 * (box[1] + box[3]);
  return area[0] < x && x < area[2] && area[1] < y && y < area[3];
}

bool crops(const CropPlan& plan) {
  return plan.is_cropped_first || plan.box.x != 0 || plan.box.y != 0 ||
         plan.taken.width != plan.resized_width || plan.taken.height != plan.resized_height;
}

bool fills(const CropPlan& plan, ImageSize size) {
  return plan.taken.width != size.width || plan.taken.height != size.height;
}

std::optional<CropPlan> joined(const CropPlan& first, ImageSize size, const CropPlan& next,
                               ImageSize next_size) {
  if (first.taken.width == 0 || next.taken.width == 0) return std::nullopt;
  // Of the canvas between them: what the first one puts there, and what the second one takes.
  const Rect put{first.x, first.y, first.taken.width, first.taken.height};
  CropPlan both = next;
  both.map = composed(first.map, next.map);
  if (next.resizes()) {
    if (first.resizes() || first.flip || !is_within(next.box, put)) return std::nullopt;
    both.box.x += first.box.x + first.taken.x - first.x;
    both.box.y += first.box.y + first.taken.y - first.y;
    // Its border is the border of what is resized, as of a crop.
    both.is_cropped_first = true;
    return both;
  }
  const Rect taken{next.box.x + next.taken.x, next.box.y + next.taken.y, next.taken.width,
                   next.taken.height};
  const Rect kept = common(put, taken);
  if (kept.width == 0) return std::nullopt;
  const bool first_fills = fills(first, size);
  const bool next_fills = fills(next, next_size);
  if (first_fills && next_fills && first.fill != next.fill) return std::nullopt;
  const int left = kept.x - put.x;
  both = first;
  both.taken = {first.taken.x + (first.flip ? put.width - left - kept.width : left),
                first.taken.y + kept.y - put.y, kept.width, kept.height};
  both.x = next.x + (next.flip ? right_of(taken) - right_of(kept) : kept.x - taken.x);
  both.y = next.y + kept.y - taken.y;
  both.flip = first.flip != next.flip;
  both.fill = first_fills ? first.fill : next.fill;
  both.map = composed(first.map, next.map);
  return both;
}

AugmentationMoves::AugmentationMoves(const std::vector<Augmentation>& augmentations, ImageSize size)
    : size_(size),
      augmenter_(moves_pixels(augmentations) ? augmentations : std::vector<Augmentation>{}, size) {}

void AugmentationMoves::add(const SampleKey& key, Moves& moves) {
  ops_.clear();
  augmenter_.draw_ops(key, ops_);
  for (const auto& [drawn, fill] : ops_) {
    const ViewMatrix source =
        source_of(drawn, static_cast<int>(size_.width), static_cast<int>(size_.height));
    if (source == Warp{}.source) continue;
    moves.push_back({.what = Warp{.source = source, .fill = fill}, .size = size_});
  }
}

}  // namespace ffkit
