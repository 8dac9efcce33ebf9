#include <algorithm>
#include <cmath>

#include "base/make_error.h"
#include "moves/draw_steps.h"
#include "moves/moves.h"
#include "random_numbers/random_streams.h"

namespace ffkit {
namespace {

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

// Where boxes would lie elsewhere, or others would stay, if both were one.
bool boxes_differ(const CropPlan& first, bool first_drops, const CropPlan& next, ImageSize size,
                  bool next_drops) {
  return (crops(first) && (fills(next, size) || next_drops)) ||
         (first_drops && (crops(next) || fills(next, size)));
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
      if (first != nullptr &&
          !boxes_differ(*first, last.drops_boxes_outside, plan, size, drops_boxes_outside)) {
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

  void check_canvas(ImageSize size) const {
    if (size.width <= kMaxSide && size.height <= kMaxSide) return;
    throw error_of(ErrorCode::unsupported,
                   "a step of Compose makes {} x {} pixels of {} x {}; a side may have {} at most",
                   size.width, size.height, width_, height_, kMaxSide);
  }

  // The map or matrix is what this step does to boxes.
  void push(const Move& move, const ImageMap& map) {
    push(move, {map.scale_x, 0, map.offset_x, 0, map.scale_y, map.offset_y, 0, 0, 1});
  }
  void push(const Move& move, const ViewMatrix& matrix) {
    width_ = static_cast<int>(move.size.width);
    height_ = static_cast<int>(move.size.height);
    for (BoxEdges& box : boxes_) box = clipped(map_box(matrix, box), move.size);
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
  requires requires(const Crop& crop, SampleKey key) { plan_crop(crop, 1, 1, key); }
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
  void run(const ResizeShortSide& by, const SampleKey& /*key*/) {
    resize(size_by_short_side(by, width_, height_), by.interpolation);
  }
  void run(const FixedSizeCrop& crop, const SampleKey& key) {
    CounterRandom random(key);
    const auto [x, y] = draw_corner(crop, width_, height_, random);
    window(x, y, crop.size, crop.fill);
  }
  void run(const PadToLargest& pad, const SampleKey& /*key*/) {
    const ImageSize picture = size();
    if (picture.width > pad.size.width || picture.height > pad.size.height) {
      throw error_of(ErrorCode::unsupported,
                     "the picture has {} x {} pixels before PadToLargest, whose size is {} x {}; "
                     "make the size larger, or the picture smaller",
                     picture.width, picture.height, pad.size.width, pad.size.height);
    }
    window(0, 0, pad.size, {});
    moves_.back().picture = picture;
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
          moves.assign(1, {.what = plan_crop(t, width, height, key), .size = t.size});
        }
      },
      transform);
}

}  // namespace ffkit
