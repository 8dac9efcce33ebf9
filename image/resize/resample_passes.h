// ResamplePasses: the two passes of a resize over any number of rows, each rounding to 8 bits.
// Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "resize/axis_filter.h"
#include "resize/resize_kernels.h"

namespace ffkit {

// Whether Pillow from version 13 on makes the vertical pass first when it resizes width x height
// pixels to these: found by trying it on thousands of sizes. All versions before always make the
// horizontal one first.
inline bool is_vertical_first(double width, double height, int new_width, int new_height) {
  return height > new_height && height - new_height > 2 * (width - new_width);
}

// Of a row of RGB pixels, in whole blocks of columns.
size_t row_bytes(int width);

class ResamplePasses {
 public:
  struct Rows {
    uint8_t* data = nullptr;
    ptrdiff_t stride = 0;  // row_bytes(number of outputs)
  };

  // `num_rows` rows of pixels, [filter.num_outputs()][3] or, planar, [3][filter.num_outputs()].
  // `pixels` is the one at (filter.begin(), first row), rows `stride` bytes apart; 16 bytes behind
  // the last one needed may be read. The result lives until the next call; kReadableBytes behind it
  // may be read.
  Rows horizontal(const uint8_t* pixels, ptrdiff_t stride, int num_rows, const AxisFilter& filter,
                  bool flip = false, bool planar = false);

  // resample_vertical(), also of rows of fewer columns than a register has.
  void vertical(const VerticalJob& job);

  static constexpr size_t kReadableBytes = 64;

 private:
  // 16-byte aligned parts of one allocation each; see HorizontalJob.
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  static uint8_t* reserve(std::vector<Line>& lines, size_t num_bytes);

  std::vector<Line> columns_;
  std::vector<Line> results_;
  std::vector<Line> rows_;
  std::vector<uint8_t> narrow_;
};

}  // namespace ffkit
