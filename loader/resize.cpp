#include "resize.h"

#include <algorithm>
#include <cstring>

namespace ffkit {
namespace {

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Of a row of RGB pixels, in whole blocks of columns.
size_t row_bytes(int width) {
  return round_up(size_t{3} * static_cast<size_t>(width), kRowBlock);
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
  same_.build(height, 0, height, height, 0, height);
  uint8_t* black = reserve(rows_, row_bytes(width) * static_cast<size_t>(height) + kMaxLanes);
  std::memset(black, 0, row_bytes(width) * static_cast<size_t>(height));
  run_vertical(same_, width, 0, 0, out);
}

void Resizer::run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
                  const AxisFilter& filter_y, bool flip, int x, int y, void* out,
                  bool vertical_first) {
  const int num_inputs = filter_x.end() - filter_x.begin();
  const int width = filter_x.num_outputs();
  const int height = filter_y.num_outputs();
  if (!vertical_first) {
    run_horizontal(pixels, stride, filter_y.end() - filter_y.begin(), filter_x, flip);
    return run_vertical(filter_y, width, x, y, out);
  }
  VerticalJob job;
  job.rows = pixels;
  job.stride = stride;
  job.num_columns = size_t{3} * static_cast<size_t>(num_inputs);
  job.filter = &filter_y;
  job.out_stride_bytes = static_cast<ptrdiff_t>(row_bytes(num_inputs));
  uint8_t* low = reserve(low_, row_bytes(num_inputs) * static_cast<size_t>(height) + kMaxLanes);
  job.out = low;
  run_vertical(job);
  run_horizontal(low, job.out_stride_bytes, height, filter_x, flip);
  same_.build(height, 0, height, height, 0, height);
  run_vertical(same_, width, x, y, out);
}

void Resizer::run_horizontal(const uint8_t* pixels, ptrdiff_t stride, int num_rows,
                             const AxisFilter& filter_x, bool flip) {
  const int num_inputs = filter_x.end() - filter_x.begin();
  const size_t out_bytes = row_bytes(filter_x.num_outputs());
  const size_t num_blocks = round_up(static_cast<size_t>(num_rows), kRowBlock) / kRowBlock;
  HorizontalJob job;
  job.filter = &filter_x;
  job.flip = flip;
  job.planar = output_.layout == Layout::nchw;
  job.columns = reserve(columns_, row_bytes(num_inputs) * kRowBlock);
  job.results = reserve(results_, out_bytes * kRowBlock);
  job.out = reserve(rows_, num_blocks * kRowBlock * out_bytes + kMaxLanes);
  job.out_stride = static_cast<ptrdiff_t>(out_bytes);
  for (int row = 0; row < num_rows; row += kRowBlock) {
    for (int i = 0; i < kRowBlock; ++i) {
      job.rows[i] = pixels + std::min(row + i, num_rows - 1) * stride;
    }
    resample_horizontal(job);
    job.out += kRowBlock * job.out_stride;
  }
}

void Resizer::run_vertical(const AxisFilter& filter_y, int width, int x, int y, void* out) {
  const bool is_planar = output_.layout == Layout::nchw;
  const size_t pixel_values = is_planar ? 1 : 3;  // next to each other in the output
  const auto out_width = static_cast<size_t>(size_.width);
  const size_t plane_values = out_width * static_cast<size_t>(size_.height);
  const size_t place = (static_cast<size_t>(y) * out_width + static_cast<size_t>(x)) * pixel_values;

  VerticalJob job;
  job.stride = static_cast<ptrdiff_t>(row_bytes(width));
  job.num_columns = static_cast<size_t>(width) * pixel_values;
  job.filter = &filter_y;
  job.dtype = output_.dtype;
  job.out_stride_bytes = static_cast<ptrdiff_t>(out_width * pixel_values * element_bytes_);
  for (size_t plane = 0; plane < 3 / pixel_values; ++plane) {
    job.rows = rows_.front().bytes + plane * job.num_columns;
    job.scale = &scale_.scale[plane * out_width];
    job.bias = &scale_.bias[plane * out_width];
    job.out = static_cast<uint8_t*>(out) + (plane * plane_values + place) * element_bytes_;
    run_vertical(job);
  }
}

void Resizer::run_vertical(const VerticalJob& job) {
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
