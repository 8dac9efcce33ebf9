#include "resize.h"

#include <algorithm>
#include <cstring>

namespace ffkit {
namespace {

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Grows only: what it holds is scratch.
template <typename Line>
uint8_t* reserve(std::vector<Line>& lines, size_t num_bytes) {
  const size_t needed = num_bytes / sizeof(Line) + 2;
  if (lines.size() < needed) lines.resize(needed);
  return lines.front().bytes;
}

}  // namespace

Resizer::Resizer(ImageSize size, const ImageOutput& output)
    : size_(size),
      output_(output),
      element_bytes_(size_of(output.dtype)),
      scale_(size.width, output) {}

void Resizer::fill_black(void* out) {
  const auto width = static_cast<int>(size_.width);
  const auto height = static_cast<int>(size_.height);
  AxisFilter same;
  same.build(height, 0, height, height, 0, height);
  // Every output row is made of the same black one.
  uint8_t* black = reserve(rows_, round_up(3 * static_cast<size_t>(width), 16) + kMaxLanes);
  std::memset(black, 0, rows_.size() * sizeof(Line));
  run_vertical(same, 0, width, 0, 0, out);
}

void Resizer::run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
                  const AxisFilter& filter_y, bool flip, int x, int y, void* out) {
  const int num_rows = filter_y.end() - filter_y.begin();
  const auto num_inputs = static_cast<size_t>(filter_x.end() - filter_x.begin());
  const auto width = static_cast<size_t>(filter_x.num_outputs());
  const size_t row_bytes = round_up(3 * width, 16);
  const size_t num_blocks = round_up(static_cast<size_t>(num_rows), kRowBlock) / kRowBlock;

  HorizontalJob job;
  job.filter = &filter_x;
  job.flip = flip;
  job.planar = output_.layout == Layout::nchw;
  job.columns = reserve(columns_, round_up(3 * num_inputs, 16) * kRowBlock);
  job.results = reserve(results_, row_bytes * kRowBlock);
  job.out = reserve(rows_, num_blocks * kRowBlock * row_bytes + kMaxLanes);
  job.out_stride = static_cast<ptrdiff_t>(row_bytes);
  for (int row = 0; row < num_rows; row += kRowBlock) {
    for (int i = 0; i < kRowBlock; ++i) {
      job.rows[i] = pixels + std::min(row + i, num_rows - 1) * stride;
    }
    resample_horizontal(job);
    job.out += kRowBlock * job.out_stride;
  }
  run_vertical(filter_y, job.out_stride, filter_x.num_outputs(), x, y, out);
}

void Resizer::run_vertical(const AxisFilter& filter_y, ptrdiff_t stride, int width, int x, int y,
                           void* out) {
  const bool is_planar = output_.layout == Layout::nchw;
  const size_t pixel_values = is_planar ? 1 : 3;  // next to each other in the output
  const auto out_width = static_cast<size_t>(size_.width);
  const size_t plane_values = out_width * static_cast<size_t>(size_.height);
  const size_t place = (static_cast<size_t>(y) * out_width + static_cast<size_t>(x)) * pixel_values;

  VerticalJob job;
  job.stride = stride;
  job.num_columns = static_cast<size_t>(width) * pixel_values;
  job.filter = &filter_y;
  job.dtype = output_.dtype;
  job.out_stride_bytes = static_cast<ptrdiff_t>(out_width * pixel_values * element_bytes_);
  for (size_t plane = 0; plane < 3 / pixel_values; ++plane) {
    job.rows = rows_.front().bytes + plane * job.num_columns;
    job.scale = &scale_.scale[plane * out_width];
    job.bias = &scale_.bias[plane * out_width];
    job.out = static_cast<uint8_t*>(out) + (plane * plane_values + place) * element_bytes_;
    if (job.num_columns >= kMaxLanes) {
      resample_vertical(job);
    } else {
      run_narrow(job);
    }
  }
}

void Resizer::run_narrow(VerticalJob job) {
  const size_t num_rows = static_cast<size_t>(job.filter->num_outputs());
  const size_t used_bytes = job.num_columns * element_bytes_;
  const size_t row_bytes = kMaxLanes * element_bytes_;
  const auto out_stride = job.out_stride_bytes;
  auto* out = static_cast<uint8_t*>(job.out);
  narrow_.resize(num_rows * row_bytes);
  job.num_columns = kMaxLanes;
  job.out = narrow_.data();
  job.out_stride_bytes = static_cast<ptrdiff_t>(row_bytes);
  resample_vertical(job);
  for (size_t row = 0; row < num_rows; ++row) {
    std::memcpy(out, narrow_.data() + row * row_bytes, used_bytes);
    out += out_stride;
  }
}

}  // namespace ffkit
