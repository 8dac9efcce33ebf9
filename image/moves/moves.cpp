#include "moves/moves.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ffkit/image/image_options.h>

#include "pixels/pixel_ops.h"

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

bool cuts_boxes(const Move& move) {
  if (const auto* plan = std::get_if<CropPlan>(&move.what)) {
    return crops(*plan) || fills(*plan, move.size);
  }
  return std::holds_alternative<Warp>(move.what);
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

void add_padding(ImageSize size, Moves& moves) {
  Move& last = moves.back();
  if (last.size == size) return;
  const CropPlan pad = plan_window(static_cast<int>(last.size.width),
                                   static_cast<int>(last.size.height), 0, 0, size, {});
  const auto* first = std::get_if<CropPlan>(&last.what);
  const auto both = first != nullptr ? joined(*first, last.size, pad, size) : std::nullopt;
  // Boxes that the last one clips and the padding does not.
  if (both && !cuts_boxes(last) && !last.drops_boxes_outside) {
    last.what = *both;
    last.size = size;
  } else {
    moves.push_back({.what = pad, .size = size});
  }
}

AugmentationMoves::AugmentationMoves(const std::vector<Augmentation>& augmentations)
    : augmenter_(moves_pixels(augmentations) ? augmentations : std::vector<Augmentation>{}) {}

void AugmentationMoves::add(const SampleKey& key, Moves& moves) {
  ops_.clear();
  const ImageSize size = moves.back().size;
  augmenter_.draw_ops(key, size, ops_);
  for (const auto& [drawn, fill] : ops_) {
    const ViewMatrix source =
        source_of(drawn, static_cast<int>(size.width), static_cast<int>(size.height));
    if (source == Warp{}.source) continue;
    moves.push_back({.what = Warp{.source = source, .fill = fill}, .size = size});
  }
}

namespace {

constexpr ImageOutput kRgbBytes{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

RgbView view_of_canvas(const RgbImage& canvas) {
  return {canvas.data, canvas.width, canvas.height, ptrdiff_t{3} * canvas.width};
}

// Part of a canvas, as if it had been decoded.
ImageDecoder::Region region_of(const RgbImage& canvas, const Rect& rect) {
  return {.pixels = view_of_canvas(canvas),
          .wanted = rect,
          .x = static_cast<double>(rect.x),
          .y = static_cast<double>(rect.y),
          .width = static_cast<double>(rect.width),
          .height = static_cast<double>(rect.height)};
}

}  // namespace

PictureScaler& PlanScalers::of(const CropPlan& plan, ImageSize size) {
  auto& scaler = plan.resizes() ? scalers_[static_cast<size_t>(plan.interpolation)] : copier_;
  if (scaler == nullptr) {
    scaler = plan.resizes() ? make_scaler(plan.interpolation, size, output_)
                            : make_copier(size, output_);
  }
  scaler->set_size(size);
  return *scaler;
}

CanvasMover::CanvasMover() : scalers_(kRgbBytes) {}

WantedPixels CanvasMover::wanted(std::span<const Move> moves) {
  const auto& plan = std::get<CropPlan>(moves.front().what);
  return scalers_.of(plan, moves.front().size).wanted(plan);
}

RgbImage CanvasMover::run(const ImageDecoder::Region& region, std::span<const Move> moves) {
  size_t which = 0;
  const auto make_canvas = [&](ImageSize size) {
    which = 1 - which;
    const RgbImage canvas{nullptr, static_cast<int>(size.width), static_cast<int>(size.height)};
    return RgbImage{canvases_[which].reserve(canvas.num_bytes()), canvas.width, canvas.height};
  };
  wanted(moves);
  const auto& plan = std::get<CropPlan>(moves.front().what);
  RgbImage canvas = make_canvas(moves.front().size);
  scalers_.of(plan, moves.front().size).run(region, plan, canvas.data);
  for (const Move& move : moves.subspan(1)) {
    const RgbImage next = make_canvas(move.size);
    run_one(canvas, move, next);
    canvas = next;
  }
  return canvas;
}

void CanvasMover::run_one(const RgbImage& from, const Move& move, const RgbImage& to) {
  if (const auto* plan = std::get_if<CropPlan>(&move.what)) {
    PictureScaler& scaler = scalers_.of(*plan, move.size);
    const WantedPixels wanted = scaler.wanted(*plan);
    return scaler.run(region_of(from, wanted.rect), *plan, to.data);
  }
  if (const auto* warp = std::get_if<Warp>(&move.what)) {
    return warp_pixels(view_of_canvas(from), warp->source, warp->filter, warp->fill, to);
  }
  const size_t row_length = size_t{3} * static_cast<size_t>(from.width);
  for (int y = 0; y < to.height; ++y) {
    std::memcpy(to.row(y), from.row(to.height - 1 - y), row_length);
  }
}

Rect WideMover::wanted(std::span<const Move> moves) {
  return scaler_.wanted(std::get<CropPlan>(moves.front().what));
}

WideRgbView WideMover::run(const WideRgbView& pixels, std::span<const Move> moves) {
  wanted(moves);
  size_t which = 0;
  const auto view_of = [&](ImageSize size) {
    return WideRgbView{canvases_[which].data(), static_cast<int>(size.width),
                       static_cast<int>(size.height), ptrdiff_t{3} * size.width};
  };
  const Move& first = moves.front();
  scaler_.run(pixels, std::get<CropPlan>(first.what), first.size, canvases_[which]);
  for (size_t i = 1; i < moves.size(); ++i) {
    const WideRgbView from = view_of(moves[i - 1].size);
    which = 1 - which;
    run_one(from, moves[i], canvases_[which]);
  }
  return view_of(moves.back().size);
}

void WideMover::run_one(const WideRgbView& from, const Move& move, std::vector<uint16_t>& to) {
  if (const auto* plan = std::get_if<CropPlan>(&move.what)) {
    const Rect part = scaler_.wanted(*plan);
    const uint16_t* begin = from.data + part.y * from.stride + ptrdiff_t{3} * part.x;
    return scaler_.run({begin, part.width, part.height, from.stride}, *plan, move.size, to);
  }
  to.resize(3 * static_cast<size_t>(move.size.width * move.size.height));
  if (const auto* warp = std::get_if<Warp>(&move.what)) {
    const std::array<uint16_t, 3> fill = scaler_.filled_with(warp->fill);
    for_nearest(move.size, from.width, from.height, warp->source, [&](size_t i, int x, int y) {
      const uint16_t* pixel = x < 0 ? fill.data() : from.data + y * from.stride + ptrdiff_t{3} * x;
      std::copy_n(pixel, 3, &to[3 * i]);
    });
    return;
  }
  for (int y = 0; y < from.height; ++y) {
    std::copy_n(from.data + (from.height - 1 - y) * from.stride, from.stride,
                &to[static_cast<size_t>(y * from.stride)]);
  }
}

}  // namespace ffkit
