// Which part of a picture a transform takes: the geometry of torchvision's transforms, without
// pixels.
#pragma once

#include <ffkit/image/image_info.h>
#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>

namespace ffkit {

struct DrawnCrop {
  Rect rect;  // within the picture; of RandomCrop it may reach beyond it
  bool flip = false;
};

// Draws the crop of a picture of width x height pixels as torchvision's
// RandomResizedCrop.get_params does, then the flip.
DrawnCrop draw_crop(const RandomResizedCrop& options, int width, int height, CounterRandom& random);

// As torchvision's RandomCrop with pad_if_needed. The rectangle is of options.size, in the
// picture's coordinates: what lies outside of the picture is padding.
DrawnCrop draw_crop(const RandomCrop& options, int width, int height, CounterRandom& random);

// What ResizeCrop takes of a picture of width x height pixels. Drawn: the factor, the place across,
// the share below, the flip.
struct DrawnResizeCrop {
  int resized_width = 0;  // of the whole picture after the resize, at least 1
  int resized_height = 0;
  int x = 0;  // the crop's corner in the resized picture; it may reach beyond it
  int y = 0;
  bool flip = false;
};
DrawnResizeCrop draw_crop(const ResizeCrop& options, int width, int height, CounterRandom& random);

// Resize(short side) followed by CenterCrop on a picture of a given size. Throws Error(unsupported)
// where the long side would be more than 2^31 - 1 pixels.
struct CenterCropGeometry {
  int resized_width = 0;  // of the whole picture after the resize
  int resized_height = 0;
  Rect taken;     // the part of the resized picture that is kept ...
  int pad_x = 0;  // ... and where its top left corner goes in the output; zeros around it
  int pad_y = 0;
};
CenterCropGeometry center_crop_geometry(const ResizeCenterCrop& options, int width, int height);

}  // namespace ffkit
