// PictureScaler: from the decoded pixels of a picture to those of the output, as a CropPlan says:
// resized as Pillow or as OpenCV does it, or copied as they are.
//
// Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/interpolation.h>
#include <ffkit/image/rgb_image.h>

#include "pixels/pixel_writer.h"
#include "resize/axis_filter.h"
#include "resize/resample_passes.h"
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

// Resizer: pixels through two AxisFilters straight into their place in the batch: resized, flipped,
// normalised, laid out. u8 results equal those of Pillow's Image.resize(size, BILINEAR or BICUBIC,
// box) to the bit.
class Resizer {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate().
  Resizer(ImageSize size, const ImageOutput& output);

  void set_size(ImageSize size);

  // Sets all of the output to a colour, normalised as pixels are.
  void fill(RgbColor color, void* out);

  // `pixels` is the RGB pixel at (filter_x.begin(), filter_y.begin()), rows `stride` bytes apart;
  // 16 bytes behind the last one needed may be read. The result has filter_x.num_outputs() x
  // filter_y.num_outputs() pixels and goes to (x, y) of the output, mirrored when `flip`; it must
  // lie within it. Between the passes values are rounded to 8 bits: their order matters.
  void run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
           const AxisFilter& filter_y, bool flip, int x, int y, void* out,
           bool vertical_first = false);

 private:
  // `width` pixels of each of `rows` to the output.
  void run_vertical(const ResamplePasses::Rows& rows, const AxisFilter& filter_y, int width, int x,
                    int y, void* out);

  ImageSize size_;
  ImageOutput output_;
  size_t element_bytes_;
  RowScale scale_;
  ResamplePasses passes_;
  std::vector<uint8_t> low_;  // results of a vertical pass that comes first; or of one colour
  AxisFilter same_;           // changes nothing
};

}  // namespace ffkit
