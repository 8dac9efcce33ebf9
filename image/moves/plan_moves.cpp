#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/random.h>

#include "base/make_error.h"
#include "moves/moves.h"
#include "pixels/pixel_ops.h"
#include "random_numbers/random_streams.h"

namespace ffkit {
namespace {

// What the steps of a Compose draw: the parameters that torchvision's transforms draw, from the
// same distributions.

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

// The sizes of pictures of width x height pixels after a resize, at least 1.
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

// The corner of the crop. What is smaller than it begins at 0.
std::array<int, 2> draw_corner(const FixedSizeCrop& crop, int width, int height,
                               CounterRandom& random) {
  const auto share = static_cast<float>(random.uniform());  // one for both
  const auto first = [share](int length, int64_t size) {
    const auto room = static_cast<float>(std::max<int64_t>(length - size, 0));
    return static_cast<int>(room * share);
  };
  return {first(width, crop.size.width), first(height, crop.size.height)};
}

// Where the canvas begins and how large it is; nothing: the picture stays.
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

// Nothing: the picture stays.
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

// Matrices from the new canvas to the old one, of one size, as Pillow takes them.
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

// Nothing: the picture stays.
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

// Nothing drawn by one step of a Compose is drawn by another.
SampleKey step_key(const SampleKey& key, size_t kind, int n) {
  constexpr uint64_t kSteps = 1;  // the list of them, where kTopPlace is that of augmentations
  return nested_key(key, augmentation_place(kSteps, kind, n));
}

CropPlan plan_flip(int width, int height) {
  CropPlan plan = plan_window(width, height, 0, 0, {height, width}, {});
  plan.flip = true;
  plan.map = {.scale_x = -1, .offset_x = static_cast<double>(width)};
  return plan;
}

// Adds the moves of one step after another. It knows the canvas that they have made.
class StepPlanner {
 public:
  StepPlanner(int width, int height, std::span<const BoxEdges> boxes, Moves& moves)
      : width_(width), height_(height), boxes_(boxes.begin(), boxes.end()), moves_(moves) {
    moves_.clear();
  }

  void add(const GeometryStep& step, const SampleKey& key) {
    std::visit([&](const auto& options) { run(options, key); }, step);
  }

  void add_plan(const CropPlan& plan, ImageSize size, bool drops_boxes_outside = false) {
    check_canvas(size);
    if (!moves_.empty()) {
      Move& last = moves_.back();
      const auto* first = std::get_if<CropPlan>(&last.what);
      if (first != nullptr && !boxes_differ(last, plan, size, drops_boxes_outside)) {
        if (const auto both = joined(*first, last.size, plan, size)) {
          const bool drops = last.drops_boxes_outside || drops_boxes_outside;
          moves_.pop_back();
          return push({.what = *both, .size = size, .drops_boxes_outside = drops}, plan.map);
        }
      }
    }
    push({.what = plan, .size = size, .drops_boxes_outside = drops_boxes_outside}, plan.map);
  }

  // The picture itself, where nothing else has made a canvas of it.
  void need_canvas() {
    if (moves_.empty()) add_plan(plan_window(width_, height_, 0, 0, size(), {}), size());
  }

 private:
  static constexpr int64_t kMaxSide = 32768;

  ImageSize size() const { return {height_, width_}; }

  // Where boxes would lie elsewhere, or others would stay, if both were one.
  bool boxes_differ(const Move& first, const CropPlan& next, ImageSize size,
                    bool next_drops) const {
    const bool first_crops = crops(std::get<CropPlan>(first.what));
    return (cuts_boxes(first) && fills(next, size)) ||
           (next_drops && (first_crops || has_cut_boxes_)) ||
           (first.drops_boxes_outside && (crops(next) || fills(next, size)));
  }

  void check_canvas(ImageSize size) const {
    if (size.width <= kMaxSide && size.height <= kMaxSide) return;
    throw error_of(ErrorCode::unsupported,
                   "a step of Compose would change the picture from {2} x {3} to {0} x {1} pixels, "
                   "but a side may have at most {4} pixels",
                   size.width, size.height, width_, height_, kMaxSide);
  }

  // The map or matrix is what this step does to boxes.
  void push(const Move& move, const ImageMap& map) {
    push(move, {map.scale_x, 0, map.offset_x, 0, map.scale_y, map.offset_y, 0, 0, 1});
  }
  void push(const Move& move, const ViewMatrix& matrix) {
    width_ = static_cast<int>(move.size.width);
    height_ = static_cast<int>(move.size.height);
    has_cut_boxes_ = false;
    for (BoxEdges& box : boxes_) {
      const BoxEdges whole = map_box(matrix, box);
      box = cuts_boxes(move) ? clipped(whole, move.size) : whole;
      has_cut_boxes_ = has_cut_boxes_ || box != whole;
    }
    moves_.push_back(move);
  }

  void warp(const ViewMatrix& source, WarpFilter filter, RgbColor fill, ImageSize canvas) {
    if (source == Warp{}.source && canvas == size()) return;
    check_canvas(canvas);
    need_canvas();
    const Move move{.what = Warp{.source = source, .filter = filter, .fill = fill}, .size = canvas};
    push(move, move.matrix());
  }
  void window(int x, int y, ImageSize size, RgbColor fill, bool drops_boxes_outside = false) {
    add_plan(plan_window(width_, height_, x, y, size, fill), size, drops_boxes_outside);
  }

  template <typename Crop>
  requires requires(const Crop& crop, SampleKey key) {
    plan_crop(crop, 1, 1, key);
    ImageSize(crop.size);
  }
  void run(const Crop& crop, const SampleKey& key) {
    add_plan(plan_crop(crop, width_, height_, key), crop.size);
  }
  void run(const RandomHorizontalFlip& flip, const SampleKey& key) {
    if (is_true(flip.probability, key)) add_plan(plan_flip(width_, height_), size());
  }
  void run(const RandomVerticalFlip& flip, const SampleKey& key) {
    if (!is_true(flip.probability, key)) return;
    need_canvas();
    const Move move{.what = UpsideDown{}, .size = size()};
    push(move, move.matrix());
  }
  void run(const RandomRotation& rotation, const SampleKey& key) {
    CounterRandom random(key);
    const Rotation drawn = draw_rotation(rotation, width_, height_, random);
    warp(drawn.source, rotation.filter, rotation.fill, drawn.size);
  }
  void run(const RandomAffine& affine, const SampleKey& key) {
    CounterRandom random(key);
    warp(draw_source(affine, width_, height_, random), affine.filter, affine.fill, size());
  }
  void run(const RandomPerspective& perspective, const SampleKey& key) {
    CounterRandom random(key);
    const auto source = draw_source(perspective, width_, height_, random);
    if (source) warp(*source, perspective.filter, perspective.fill, size());
  }
  void run(const Pad& pad, const SampleKey& /*key*/) {
    const Padding& by = pad.padding;
    window(-static_cast<int>(by.left), -static_cast<int>(by.top),
           {height_ + by.top + by.bottom, width_ + by.left + by.right}, pad.fill);
  }
  void run(const RandomZoomOut& zoom, const SampleKey& key) {
    CounterRandom random(key);
    const auto canvas = draw_canvas(zoom, width_, height_, random);
    if (canvas) window(canvas->x, canvas->y, {canvas->height, canvas->width}, zoom.fill);
  }
  void run(const RandomIoUCrop& crop, const SampleKey& key) {
    CounterRandom random(key);
    const auto rect = draw_crop(crop, width_, height_, boxes_, random);
    if (rect) window(rect->x, rect->y, {rect->height, rect->width}, {}, true);
  }
  void run(const ScaleJitter& jitter, const SampleKey& key) {
    CounterRandom random(key);
    resize(draw_size(jitter, width_, height_, random), jitter.interpolation);
  }
  void run(const RandomShortestSize& shortest, const SampleKey& key) {
    CounterRandom random(key);
    resize(draw_size(shortest, width_, height_, random), shortest.interpolation);
  }
  void run(const Resize& by, const SampleKey& /*key*/) {
    resize(resized_size(by, width_, height_), by.interpolation);
  }
  void run(const FixedSizeCrop& crop, const SampleKey& key) {
    CounterRandom random(key);
    const auto [x, y] = draw_corner(crop, width_, height_, random);
    window(x, y, crop.size, crop.fill);
  }
  void run(const PadToLargest& pad, const SampleKey& /*key*/) {
    const ImageSize picture = size();
    if (picture.width > pad.size.width || picture.height > pad.size.height) {
      throw error_of(
          ErrorCode::unsupported,
          "the picture has {} x {} pixels before PadToLargest, but PadToLargest has the size "
          "{} x {} pixels; give a larger size, or make the picture smaller",
          picture.width, picture.height, pad.size.width, pad.size.height);
    }
  }
  void run(const CenterCrop& crop, const SampleKey& key) {
    // As after a resize that changes nothing.
    add_plan(plan_crop(ResizeCenterCrop{.resize = std::min(width_, height_), .size = crop.size},
                       width_, height_, key),
             crop.size);
  }

  void resize(ImageSize size, Interpolation interpolation) {
    add_plan(plan_resize(width_, height_, size, interpolation), size);
  }
  static bool is_true(double probability, const SampleKey& key) {
    return CounterRandom(key).uniform() < probability;
  }

  int width_;
  int height_;
  std::vector<BoxEdges> boxes_;  // on this canvas
  bool has_cut_boxes_ = false;   // at its edges
  Moves& moves_;
};

void plan(const Compose& compose, int width, int height, const SampleKey& key,
          std::span<const BoxEdges> boxes, Moves& moves) {
  StepPlanner planner(width, height, boxes, moves);
  std::array<int, std::variant_size_v<GeometryStep>> num_of_kind = {};
  for (const GeometryStep& step : compose.steps) {
    planner.add(step, step_key(key, step.index(), num_of_kind[step.index()]++));
  }
  planner.need_canvas();
}

}  // namespace

void plan_moves(const ImageTransform& transform, int width, int height, const SampleKey& key,
                std::span<const BoxEdges> boxes, Moves& moves) {
  std::visit(
      [&](const auto& t) {
        if constexpr (requires { t.steps; }) {
          plan(t, width, height, key, boxes, moves);
        } else {
          moves.assign(1,
                       {.what = plan_crop(t, width, height, key), .size = image_size(transform)});
        }
      },
      transform);
}

}  // namespace ffkit
