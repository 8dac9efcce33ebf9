// Resizer: pixels through two AxisFilters straight into their place in the batch: resized, flipped, normalised, laid out.
//
// u8 results equal those of Pillow's Image.resize(size, BILINEAR or BICUBIC, box) to the bit. Keeps its memory between images. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/loader/transform.h>

#include "axis_filter.h"
#include "resize_kernels.h"
#include "row_scale.h"

namespace ffkit {

// Whether Pillow from version 13 on makes the vertical pass first when it resizes width x height pixels to these: found by trying it on
// thousands of sizes. All versions before always make the horizontal one first.
inline bool is_vertical_first(double width, double height, int new_width, int new_height) {
  return height > new_height && height - new_height > 2 * (width - new_width);
}

class Resizer {
 public:
  // Outputs are images of `size`; `output` must have passed validate().
  Resizer(ImageSize size, const ImageOutput& output);

  // Sets all of the output to black, as normalised black is.
  void fill_black(void* out);

  // `pixels` is the RGB pixel at (filter_x.begin(), filter_y.begin()), rows `stride` bytes apart; 16 bytes behind the last one
  // needed may be read. The result has filter_x.num_outputs() x filter_y.num_outputs() pixels and goes to (x, y) of the
  // output, mirrored when `flip`; it must lie within it. Between the passes values are rounded to 8 bits: their order matters.
  void run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
           const AxisFilter& filter_y, bool flip, int x, int y, void* out,
           bool vertical_first = false);

 private:
  // `num_rows` rows of `pixels` to rows_.
  void run_horizontal(const uint8_t* pixels, ptrdiff_t stride, int num_rows,
                      const AxisFilter& filter_x, bool flip);
  // rows_, `width` pixels wide, to the output.
  void run_vertical(const AxisFilter& filter_y, int width, int x, int y, void* out);
  // Columns may be fewer than a register has.
  void run_vertical(const VerticalJob& job);

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
  std::vector<Line> low_;  // results of a vertical pass that comes first
  std::vector<uint8_t> narrow_;
  AxisFilter same_;  // changes nothing
};

}  // namespace ffkit
