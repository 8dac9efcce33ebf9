// The moves of a view: all that lies between a picture and it. Masks, boxes and points go through
// them as pixels do.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>

#include "codec/pixel_buffer.h"
#include "transform/augmenter.h"
#include "transform/picture_scaler.h"

namespace ffkit {

struct UpsideDown {};

// Every pixel of the new canvas is made where `source` says that it lies in the old one.
struct Warp {
  ViewMatrix source = {1, 0, 0, 0, 1, 0, 0, 0, 1};  // from the new canvas to the old one
  WarpFilter filter = WarpFilter::nearest;
  RgbColor fill = {0, 0, 0};
};

// What one step does to the pixels of a canvas.
struct Move {
  std::variant<CropPlan, UpsideDown, Warp> what;
  ImageSize size = 0;                // of the canvas that it makes
  bool drops_boxes_outside = false;  // those whose centres lie outside of the new canvas

  // From the old canvas to the new one.
  ViewMatrix matrix() const;
};

// The first one, a CropPlan, takes the picture.
using Moves = std::vector<Move>;

// From the picture to the view.
ViewMatrix matrix_of(const Moves& moves);

// Whether it leaves pixels out, and whether it adds some, to a canvas of `size`.
bool crops(const CropPlan& plan);
bool fills(const CropPlan& plan, ImageSize size);

// Whether boxes and points are cut at the canvas that the move makes: it crops, pads or warps.
// A flip and a resize leave them as they are, also what lies outside of the picture.
bool cuts_boxes(const Move& move);

// One CropPlan that does what both do, or nothing where that would be other pixels. `first` makes a
// canvas of `size`, and `next` one of next_size.
std::optional<CropPlan> joined(const CropPlan& first, ImageSize size, const CropPlan& next,
                               ImageSize next_size);

// A box or point of one canvas on the next one, or a picture's in a view, where it may reach beyond
// the edges. The upright box around what the box has become.
std::array<double, 2> map_point(const ViewMatrix& matrix, double x, double y);
BoxEdges map_box(const ViewMatrix& matrix, const BoxEdges& box);
BoxEdges clipped(const BoxEdges& box, ImageSize size);
double area_of(const BoxEdges& box);
bool is_centre_within(const BoxEdges& box, const BoxEdges& area);

// What a transform does to the picture of a sample, one of width x height pixels; `key` is the
// sample's, and RandomIoUCrop takes `boxes`. A PadToLargest adds nothing: add_padding() does.
// `moves` keeps its memory. Throws Error(unsupported) as
// plan_crop() does, and where a canvas would have more than 32768 pixels on a side.
void plan_moves(const ImageTransform& transform, int width, int height, const SampleKey& key,
                std::span<const BoxEdges> boxes, Moves& moves);

// Puts the picture that the moves make at the top left of a canvas of `size`, with zeros around it.
void add_padding(ImageSize size, Moves& moves);

// What RandAugment and its kin do to the places of pixels, for what follows a picture. Not
// thread-safe.
class AugmentationMoves {
 public:
  // `augmentations` must have passed validate().
  explicit AugmentationMoves(const std::vector<Augmentation>& augmentations);

  // Adds those of the sample with this key.
  void add(const SampleKey& key, Moves& moves);

 private:
  Augmenter augmenter_;
  std::vector<Augmenter::PlacedOp> ops_;
};

// CanvasMover and WideMover: pixels through one move after another.
//
// Both keep their memory between pictures. Not thread-safe.

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
  std::array<std::unique_ptr<PictureScaler>, kNames<Interpolation>.names.size()>
      scalers_;  // by interpolation
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

// The same for pixels of 16 bits. Warps take the nearest pixel, whatever their filter.
class WideMover {
 public:
  // As WideScaler's.
  explicit WideMover(bool has_numbers) : scaler_(has_numbers) {}

  // What must be decoded for the first move.
  Rect wanted(std::span<const Move> moves);
  WideRgbView run(const WideRgbView& pixels, std::span<const Move> moves);

 private:
  void run_one(const WideRgbView& from, const Move& move, std::vector<uint16_t>& to);

  WideScaler scaler_;
  std::array<std::vector<uint16_t>, 2> canvases_;
};

}  // namespace ffkit
