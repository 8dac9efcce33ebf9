#include "resize/resample_passes.h"

#include <algorithm>
#include <cstring>

namespace ffkit {
namespace {

size_t round_up_size(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

size_t row_bytes(int width) {
  return round_up_size(size_t{3} * static_cast<size_t>(width), kRowBlock);
}

// Grows only: what it holds is scratch.
uint8_t* ResamplePasses::reserve(std::vector<Line>& lines, size_t num_bytes) {
  const size_t needed = num_bytes / sizeof(Line) + 2;
  if (lines.size() < needed) lines.resize(needed);
  return lines.front().bytes;
}

ResamplePasses::Rows ResamplePasses::horizontal(const uint8_t* pixels, ptrdiff_t stride,
                                                int num_rows, const AxisFilter& filter, bool flip,
                                                bool planar) {
  const int num_inputs = filter.end() - filter.begin();
  const size_t out_bytes = row_bytes(filter.num_outputs());
  const size_t num_blocks = round_up_size(static_cast<size_t>(num_rows), kRowBlock) / kRowBlock;
  HorizontalJob job;
  job.filter = &filter;
  job.flip = flip;
  job.planar = planar;
  job.columns = reserve(columns_, row_bytes(num_inputs) * kRowBlock);
  job.results = reserve(results_, out_bytes * kRowBlock);
  job.out = reserve(rows_, num_blocks * kRowBlock * out_bytes + kReadableBytes);
  job.out_stride = static_cast<ptrdiff_t>(out_bytes);
  const Rows rows{job.out, job.out_stride};
  for (int row = 0; row < num_rows; row += kRowBlock) {
    for (int i = 0; i < kRowBlock; ++i) {
      job.rows[i] = pixels + std::min(row + i, num_rows - 1) * stride;
    }
    resample_horizontal(job);
    job.out += kRowBlock * job.out_stride;
  }
  return rows;
}

void ResamplePasses::vertical(const VerticalJob& job) {
  if (job.num_columns >= kMaxLanes) return resample_vertical(job);
  const auto num_rows = static_cast<size_t>(job.filter->num_outputs());
  const size_t line_bytes = kMaxLanes * size_of(job.dtype);
  narrow_.resize(num_rows * line_bytes);
  VerticalJob wide = job;
  wide.num_columns = kMaxLanes;
  wide.out = narrow_.data();
  wide.out_stride_bytes = static_cast<ptrdiff_t>(line_bytes);
  resample_vertical(wide);
  auto* out = static_cast<uint8_t*>(job.out);
  for (size_t row = 0; row < num_rows; ++row, out += job.out_stride_bytes) {
    std::memcpy(out, narrow_.data() + row * line_bytes, job.num_columns * size_of(job.dtype));
  }
}

}  // namespace ffkit
