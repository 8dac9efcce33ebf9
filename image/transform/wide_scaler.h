// Pictures of 16 bits: what PictureScaler is for bytes. Both classes keep their memory between
// pictures. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/interpolation.h>
#include <ffkit/image/rgb_image.h>

#include "pixels/pixel_writer.h"
#include "resize/axis_filter.h"
#include "transform/crop_plan.h"

namespace ffkit {

// Pillow's antialiased resize of pixels of 16 bits, as that of its mode I;16: sums of doubles,
// rounded to 16 bits after each pass. What it makes too small or too large is 0 or 65535.
class WideResizer {
 public:
  // Of a picture of width x height pixels that becomes resized_width x resized_height, `taken` is
  // wanted. Returns the part of the picture that it is made from.
  Rect plan(int width, int height, int resized_width, int resized_height, const Rect& taken,
            Interpolation interpolation);
  // Writes [taken.height, taken.width, 3] without gaps. `pixels` is what plan() returned last.
  void run(const WideRgbView& pixels, uint16_t* out);

 private:
  struct Axis {
    struct Taps {
      int first;  // counted from `begin`
      size_t offset;
      int count;
    };
    void build(const AxisStretch& stretch, Interpolation interpolation);

    int begin = 0;
    int end = 0;
    std::vector<Taps> taps;
    std::vector<double> weights;
    std::vector<double> scratch;
  };

  static void horizontal(const WideRgbView& pixels, const Axis& axis, uint16_t* out);
  static void vertical(const WideRgbView& pixels, const Axis& axis, uint16_t* out);

  Axis x_;
  Axis y_;
  bool is_vertical_first_ = false;
  std::vector<uint16_t> between_;
};

// From the decoded pixels of a picture to those of the output, as a CropPlan says.
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
