// WideScaler: from the decoded pixels of a picture of 16 bits to those of the output, as a CropPlan
// says. What PictureScaler is for bytes.
//
// Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/interpolation.h>
#include <ffkit/image/rgb_image.h>

#include "pixels/wide_writer.h"
#include "resize/wide_resizer.h"
#include "transform/crop_plan.h"

namespace ffkit {

class WideScaler {
 public:
  // `output` must have passed validate(), and not be u8.
  WideScaler(Interpolation interpolation, ImageSize size, const ImageOutput& output);

  // What is to be decoded, as ImageDecoder::read_wide_region() takes it.
  Rect wanted(const CropPlan& plan);
  // Writes all of the output. `pixels` are those of wanted(plan), which was called last.
  void run(const WideRgbView& pixels, const CropPlan& plan, void* out);

 private:
  // What the plan takes: [taken.height, taken.width, 3].
  WideRgbView taken_pixels(const WideRgbView& pixels, const CropPlan& plan);

  Interpolation interpolation_;
  ImageSize size_;
  uint16_t fill_factor_;  // a fill is a colour of bytes
  WideResizer resizer_;
  WideWriter writer_;
  std::vector<uint16_t> resized_;
  std::vector<uint16_t> placed_;
};

}  // namespace ffkit
