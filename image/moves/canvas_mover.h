// CanvasMover: pixels through one move after another.
//
// Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <array>
#include <memory>
#include <span>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_output.h>

#include "codec/pixel_buffer.h"
#include "moves/moves.h"
#include "transform/picture_scaler.h"

namespace ffkit {

// The scalers that plans ask for, which write one kind of output.
class PlanScalers {
 public:
  // `output` must have passed validate().
  explicit PlanScalers(const ImageOutput& output) : output_(output) {}
  // That of a plan which makes pictures of `size`.
  PictureScaler& of(const CropPlan& plan, ImageSize size);

 private:
  ImageOutput output_;
  std::unique_ptr<PictureScaler> copier_;
  std::array<std::unique_ptr<PictureScaler>, kInterpolations.size()> scalers_;  // by interpolation
};

class CanvasMover {
 public:
  CanvasMover();

  // What must be decoded for the first move.
  WantedPixels wanted(std::span<const Move> moves);
  // The pixels after all moves, of the last one's size, without gaps between rows; they may be
  // changed, and live until the next call. `region` is what was decoded of wanted(moves), which may
  // have been called for other moves since.
  RgbImage run(const ImageDecoder::Region& region, std::span<const Move> moves);

 private:
  void run_one(const RgbImage& from, const Move& move, const RgbImage& to);

  PlanScalers scalers_;
  std::array<PixelBuffer, 2> canvases_;
};

}  // namespace ffkit
