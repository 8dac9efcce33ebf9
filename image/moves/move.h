// Move: what one step does to the pixels of a canvas. The moves of a view are all that lies between
// a picture and it; masks, boxes and points go through them as pixels do.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/rgb_image.h>
#include <ffkit/image/view_geometry.h>

#include "transform/crop_plan.h"

namespace ffkit {

struct UpsideDown {};

// Every pixel of the new canvas is made where `source` says that it lies in the old one.
struct Warp {
  ViewMatrix source = {1, 0, 0, 0, 1, 0, 0, 0, 1};  // from the new canvas to the old one
  WarpFilter filter = WarpFilter::nearest;
  RgbColor fill = {0, 0, 0};
};

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

}  // namespace ffkit
