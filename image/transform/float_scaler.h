// FloatScaler: what ScalePad does to the pixels of a picture: to floats, perhaps distorted, resized
// by OpenCV's bilinear filter, normalised, zeros around them.
//
// Works on one row after another, which stay in the processor's caches: a whole picture of floats
// would not. Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <array>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/random.h>
#include <ffkit/image/rgb_image.h>

#include "pixels/pixel_kernels.h"
#include "pixels/pixel_writer.h"
#include "resize/axis_filter.h"

namespace ffkit {

// What PhotoMetricDistortion does to one picture: the draws of mmdetection's PhotoMetricDistortion,
// without pixels.
RowDistortion draw_distortion(const PhotoMetricDistortion& options, CounterRandom& random);

class FloatScaler {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate() with a ScalePad.
  FloatScaler(ImageSize size, const ImageOutput& output);

  // Writes all of the output: `pixels` resized to width x height at its top left corner, which must
  // fit, and zeros. They are distorted before, unless `distortion` is null.
  void run(const RgbView& pixels, int width, int height, const RowDistortion* distortion,
           void* out);

 private:
  // Row y of `pixels` as floats, distorted, and of the result; a row for each channel.
  const float* floats_of(const RgbView& pixels, int y);
  const float* scaled_row(const RgbView& pixels, int y);
  // Zeros beside and below the width x height pixels of the result.
  void clear_around(int width, int height, std::byte* out) const;
  // A row of the result to row y of the output.
  void write(const float* rows, int width, int y, std::byte* out);

  ImageSize size_;
  ImageOutput output_;
  size_t element_bytes_;
  RowScale scale_;
  LinearAxis axis_x_;
  LinearAxis axis_y_;
  const RowDistortion* distortion_ = nullptr;
  // Rows of `pixels` as floats, even and odd ones, and which ones they are.
  std::array<std::vector<float>, 2> floats_;
  std::array<int, 2> floats_y_ = {};
  std::vector<float> blended_;      // of two rows
  std::vector<float> scaled_;       // a row of the result
  std::vector<float> interleaved_;  // the same, [width][3]
};

}  // namespace ffkit
