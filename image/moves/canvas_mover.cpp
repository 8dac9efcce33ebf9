#include "moves/canvas_mover.h"

#include <cstring>
#include <utility>

#include "pixels/warp.h"

namespace ffkit {
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

}  // namespace ffkit
