// Resizer: pixels through two AxisFilters straight into their place in the batch: resized, flipped, normalised, laid out.
//
// u8 results equal Pillow's Image.resize(size, BILINEAR or BICUBIC, box) to the bit. From version 13 on Pillow makes the vertical pass
// first where the height shrinks by more than twice as many pixels as the width; there they may be one level apart, bicubic
// ones four. Keeps its memory between images. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/loader/transform.h>

#include "axis_filter.h"
#include "resize_kernels.h"
#include "row_scale.h"

namespace ffkit {

class Resizer {
 public:
  // Outputs are images of `size`; `output` must have passed validate().
  Resizer(ImageSize size, const ImageOutput& output);

  // Sets all of the output to black, as normalised black is.
  void fill_black(void* out);

  // `pixels` is the RGB pixel at (filter_x.begin(), filter_y.begin()), rows `stride` bytes apart; 16 bytes behind the last one
  // needed may be read. The result has filter_x.num_outputs() x filter_y.num_outputs() pixels and goes to (x, y) of the
  // output, mirrored when `flip`; it must lie within it.
  void run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
           const AxisFilter& filter_y, bool flip, int x, int y, void* out);

 private:
  void run_vertical(const AxisFilter& filter_y, ptrdiff_t stride, int width, int x, int y,
                    void* out);
  void run_narrow(VerticalJob job);

  ImageSize size_;
  ImageOutput output_;
  size_t element_bytes_;
  RowScale scale_;
  // 16-byte aligned parts of one allocation each; see HorizontalJob.
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> columns_;
  std::vector<Line> results_;
  std::vector<Line> rows_;
  std::vector<uint8_t> narrow_;
};

}  // namespace ffkit
