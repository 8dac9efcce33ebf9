// The moves of a view: all that lies between a picture and it. Masks, boxes and points go through
// them as pixels do.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/random.h>
#include <ffkit/image/rgb_image.h>
#include <ffkit/image/transform.h>
#include <ffkit/image/view_geometry.h>

#include "transform/augmenter.h"
#include "transform/crop_plan.h"

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
  ImageSize picture = 0;             // the part of it at the top left, of a PadToLargest; 0: all

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
// sample's, and RandomIoUCrop takes `boxes`. `moves` keeps its memory. Throws Error(unsupported) as
// plan_crop() does, and where a canvas would have more than 32768 pixels on a side.
void plan_moves(const ImageTransform& transform, int width, int height, const SampleKey& key,
                std::span<const BoxEdges> boxes, Moves& moves);

// What RandAugment and its kin do to the places of pixels, for what follows a picture. Not
// thread-safe.
class AugmentationMoves {
 public:
  // `augmentations` must have passed validate(); pictures are of `size`.
  AugmentationMoves(const std::vector<Augmentation>& augmentations, ImageSize size);

  // Adds those of the sample with this key.
  void add(const SampleKey& key, Moves& moves);

 private:
  ImageSize size_;
  Augmenter augmenter_;
  std::vector<Augmenter::PlacedOp> ops_;
};

}  // namespace ffkit
