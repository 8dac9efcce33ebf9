// PictureScaler: from the decoded pixels of a picture to those of the output, as a CropPlan says:
// resized as Pillow or as OpenCV does it, or copied as they are.
//
// Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <memory>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/interpolation.h>
#include <ffkit/image/rgb_image.h>

#include "transform/crop_plan.h"

namespace ffkit {

// What is to be decoded, as ImageDecoder::read_region() takes it.
struct WantedPixels {
  Rect rect;
  int min_width = 0;
  int min_height = 0;
};

class PictureScaler {
 public:
  PictureScaler() = default;
  PictureScaler(const PictureScaler&) = delete;
  PictureScaler& operator=(const PictureScaler&) = delete;
  virtual ~PictureScaler() = default;

  // Of the output from now on.
  virtual void set_size(ImageSize size) = 0;

  virtual WantedPixels wanted(const CropPlan& plan) = 0;

  // Writes all of the output. `region` is what was decoded of wanted(plan), which was called last.
  virtual void run(const ImageDecoder::Region& region, const CropPlan& plan, void* out) = 0;
};

// Outputs are pictures of `size`; `output` must have passed validate(). Plans must resize ...
std::unique_ptr<PictureScaler> make_scaler(Interpolation interpolation, ImageSize size,
                                           const ImageOutput& output);
// ... or must not.
std::unique_ptr<PictureScaler> make_copier(ImageSize size, const ImageOutput& output);

}  // namespace ffkit
