// CropPlan: which part of its picture a sample has, and where in the output it goes. What all
// transforms decide, without pixels.
#pragma once

#include <ffkit/image/image_info.h>
#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>

namespace ffkit {

// Which part of a picture a transform takes: the geometry of torchvision's transforms.

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

//    picture                 box, resized               output
//    +-----------------+     +--------------+           +-----------+
//    |  +-----------+  |     |     +------+ |           | fill      |
//    |  |    box    |  | ->  |     | taken| |    ->     |  +------+ |
//    |  |           |  |     |     +------+ |           |  | taken| |
//    |  +-----------+  |     +--------------+           +--+------+-+
//    +-----------------+                             mirrored when flip
struct CropPlan {
  Rect box;                // its border is the border of the resize
  int resized_width = 0;   // of the box after the resize
  int resized_height = 0;  // the same as the box: nothing is resized
  Rect taken;              // of the resized box; of width 0: nothing, all is `fill`
  int x = 0;               // of taken's top left corner in the output
  int y = 0;
  bool flip = false;          // mirrors what is taken, in its place
  RgbColor fill = {0, 0, 0};  // around it
  Interpolation interpolation = Interpolation::bilinear;
  bool may_scale_decode = false;  // a JPEG may be decoded at a fraction of its size
  // as Pillow sees it: the box is a picture of its own, of the size in which it is decoded
  bool is_cropped_first = false;
  ImageMap map;  // where pixels of the picture go, also where nothing of it is taken

  bool resizes() const { return resized_width != box.width || resized_height != box.height; }
};

// Of a picture of width x height pixels in the sample with this key. Throws Error(unsupported) as
// center_crop_geometry() does, and where a ScalePad's size is too small.
CropPlan plan_crop(const RandomResizedCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const ResizeCenterCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const Resize& resize, int width, int height, const SampleKey& key);
CropPlan plan_crop(const RandomCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const ResizeCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const ScalePad& pad, int width, int height, const SampleKey& key);

// The whole picture, resized.
CropPlan plan_resize(int width, int height, ImageSize size, Interpolation interpolation);
// The window of `size` whose corner is at (x, y) of the picture, and may lie outside of it.
CropPlan plan_window(int width, int height, int x, int y, ImageSize size, RgbColor fill);

}  // namespace ffkit
