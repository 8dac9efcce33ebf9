#include "moves/draw_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pixels/warp.h"

namespace ffkit {
namespace {

// Truncated, in the precision of the factor: torchvision has some as f32.
template <typename Factor>
ImageSize size_by(Factor factor, int width, int height) {
  const auto scaled = [factor](int length) {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<Factor>(length) * factor));
  };
  return {scaled(height), scaled(width)};
}

// The corners of a picture, as pixels, and where they go.
struct MovedCorner {
  double from_x, from_y;
  double to_x, to_y;
};

// The matrix, with 1 at its end, that takes the moved corners back: eight linear equations, by
// Gauss' elimination.
ViewMatrix take_back(const std::array<MovedCorner, 4>& corners) {
  std::array<std::array<double, 9>, 8> rows = {};
  for (size_t i = 0; i < 4; ++i) {
    const auto& [x, y, u, v] = corners[i];
    rows[2 * i] = {u, v, 1, 0, 0, 0, -x * u, -x * v, x};
    rows[2 * i + 1] = {0, 0, 0, u, v, 1, -y * u, -y * v, y};
  }
  for (size_t k = 0; k < 8; ++k) {
    const auto larger = [k](const auto& a, const auto& b) {
      return std::abs(a[k]) < std::abs(b[k]);
    };
    std::swap(rows[k],
              *std::max_element(rows.begin() + static_cast<ptrdiff_t>(k), rows.end(), larger));
    for (size_t other = 0; other < 8; ++other) {
      if (other == k) continue;
      const double factor = rows[other][k] / rows[k][k];
      for (size_t column = k; column < 9; ++column) {
        rows[other][column] -= factor * rows[k][column];
      }
    }
  }
  ViewMatrix matrix = {0, 0, 0, 0, 0, 0, 0, 0, 1};
  // torchvision rounds them to f32.
  for (size_t k = 0; k < 8; ++k) {
    matrix[k] = static_cast<double>(static_cast<float>(rows[k][8] / rows[k][k]));
  }
  return matrix;
}

double iou(const BoxEdges& a, const BoxEdges& b) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const double height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const double common = std::max(width, 0.0) * std::max(height, 0.0);
  return common / (area_of(a) + area_of(b) - common);
}

}  // namespace

ImageSize draw_size(const ScaleJitter& jitter, int width, int height, CounterRandom& random) {
  const auto scale = static_cast<float>(random.uniform(jitter.scale_min, jitter.scale_max));
  // Its height with the width of `size`, as torchvision has it.
  const double fits = std::min(static_cast<double>(jitter.size.width) / height,
                               static_cast<double>(jitter.size.height) / width);
  return size_by(static_cast<float>(fits) * scale, width, height);
}

ImageSize draw_size(const RandomShortestSize& shortest, int width, int height,
                    CounterRandom& random) {
  const auto i = static_cast<size_t>(random.below(std::ssize(shortest.sizes)));
  double factor = static_cast<double>(shortest.sizes[i]) / std::min(width, height);
  if (shortest.max_size > 0) {
    factor = std::min(factor, static_cast<double>(shortest.max_size) / std::max(width, height));
  }
  return size_by(factor, width, height);
}

ImageSize size_by_short_side(const ResizeShortSide& resize, int width, int height) {
  // torchvision's _compute_resized_output_size().
  int64_t shorter = resize.size;
  auto longer = static_cast<int64_t>(static_cast<double>(shorter * std::max(width, height)) /
                                     std::min(width, height));
  if (resize.max_size > 0 && longer > resize.max_size) {
    shorter = static_cast<int64_t>(static_cast<double>(resize.max_size * shorter) /
                                   static_cast<double>(longer));
    longer = resize.max_size;
  }
  shorter = std::max<int64_t>(shorter, 1);
  return width <= height ? ImageSize{longer, shorter} : ImageSize{shorter, longer};
}

std::array<int, 2> draw_corner(const FixedSizeCrop& crop, int width, int height,
                               CounterRandom& random) {
  const auto share = static_cast<float>(random.uniform());  // one for both
  const auto first = [share](int length, int64_t size) {
    const auto room = static_cast<float>(std::max<int64_t>(length - size, 0));
    return static_cast<int>(room * share);
  };
  return {first(width, crop.size.width), first(height, crop.size.height)};
}

std::optional<Rect> draw_canvas(const RandomZoomOut& zoom, int width, int height,
                                CounterRandom& random) {
  if (random.uniform() >= zoom.probability) return std::nullopt;
  const auto factor = static_cast<float>(random.uniform(zoom.side_min, zoom.side_max));
  const auto longer = [factor](int length) {
    return static_cast<int>(static_cast<float>(length) * factor);
  };
  const int canvas_width = longer(width);
  const int canvas_height = longer(height);
  const auto before = [&](int room) {
    return static_cast<int>(static_cast<float>(room) * static_cast<float>(random.uniform()));
  };
  const int left = before(canvas_width - width);
  const int top = before(canvas_height - height);
  return Rect{-left, -top, canvas_width, canvas_height};
}

std::optional<Rect> draw_crop(const RandomIoUCrop& crop, int width, int height,
                              std::span<const BoxEdges> boxes, CounterRandom& random) {
  constexpr int kMaxOverlaps = 50;
  for (int round = 0; round < kMaxOverlaps; ++round) {
    const auto which = static_cast<size_t>(random.below(std::ssize(crop.overlaps)));
    const double overlap = crop.overlaps[which];
    if (overlap >= 1) return std::nullopt;
    for (int trial = 0; trial < crop.trials; ++trial) {
      const int new_width =
          static_cast<int>(width * random.uniform(crop.scale_min, crop.scale_max));
      const int new_height =
          static_cast<int>(height * random.uniform(crop.scale_min, crop.scale_max));
      const double place_x = random.uniform();
      const double place_y = random.uniform();
      if (new_width == 0 || new_height == 0) continue;
      const double ratio = static_cast<double>(new_width) / new_height;
      if (ratio < crop.ratio_min || ratio > crop.ratio_max) continue;
      const Rect rect{static_cast<int>((width - new_width) * place_x),
                      static_cast<int>((height - new_height) * place_y), new_width, new_height};
      const BoxEdges edges = {static_cast<double>(rect.x), static_cast<double>(rect.y),
                              static_cast<double>(rect.x + rect.width),
                              static_cast<double>(rect.y + rect.height)};
      const auto is_covered = [&](const BoxEdges& box) {
        return is_centre_within(box, edges) && iou(edges, box) >= overlap;
      };
      if (std::ranges::any_of(boxes, is_covered)) return rect;
    }
  }
  return std::nullopt;
}

Rotation draw_rotation(const RandomRotation& rotation, int width, int height,
                       CounterRandom& random) {
  const double degrees = random.uniform(rotation.degrees.min, rotation.degrees.max);
  const std::array<double, 2> middle = {width / 2.0, height / 2.0};
  return rotation_about(degrees, {height, width}, rotation.center.value_or(middle),
                        rotation.expand);
}

ViewMatrix draw_source(const RandomAffine& affine, int width, int height, CounterRandom& random) {
  const auto draw = [&](const DegreeRange& range) { return random.uniform(range.min, range.max); };
  const auto draw_shift = [&](double share, int length) {
    return std::nearbyint(random.uniform(-share * length, share * length));
  };
  const std::array<double, 2> center =
      affine.center.value_or(std::array{width * 0.5, height * 0.5});
  AffineParameters drawn{.centre_x = center[0], .centre_y = center[1]};
  drawn.degrees = draw(affine.degrees);
  drawn.shift_x = draw_shift(affine.translate_x, width);
  drawn.shift_y = draw_shift(affine.translate_y, height);
  drawn.scale = random.uniform(affine.scale_min, affine.scale_max);
  drawn.shear_x = draw(affine.shear_x);
  drawn.shear_y = draw(affine.shear_y);
  return affine_source(drawn);
}

std::optional<ViewMatrix> draw_source(const RandomPerspective& perspective, int width, int height,
                                      CounterRandom& random) {
  if (random.uniform() >= perspective.probability) return std::nullopt;
  const auto range = [&](int length) {
    const int half = length / 2;
    return static_cast<int>(perspective.distortion * half);
  };
  const auto near = [&](int length) {
    return static_cast<double>(random.below(range(length) + 1));
  };
  const auto far = [&](int length) { return length - 1 - near(length); };
  const double last_x = width - 1;
  const double last_y = height - 1;
  std::array<MovedCorner, 4> corners = {
      {{0, 0, 0, 0}, {last_x, 0, 0, 0}, {last_x, last_y, 0, 0}, {0, last_y, 0, 0}}};
  for (MovedCorner& corner : corners) {
    corner.to_x = corner.from_x == 0 ? near(width) : far(width);
    corner.to_y = corner.from_y == 0 ? near(height) : far(height);
  }
  // Corners that meet leave no picture; torchvision's equations have no answer then either.
  const ViewMatrix source = take_back(corners);
  return std::ranges::all_of(source, [](double m) { return std::isfinite(m); })
             ? std::optional(source)
             : std::nullopt;
}

}  // namespace ffkit
