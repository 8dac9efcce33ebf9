#include "transform/resize.h"

#include <algorithm>

#include "pixels/pixel_ops.h"

namespace ffkit {

Resizer::Resizer(ImageSize size, const ImageOutput& output)
    : size_(size),
      output_(output),
      element_bytes_(size_of(output.dtype)),
      scale_(size.width, output) {}

void Resizer::set_size(ImageSize size) {
  if (size == size_) return;
  size_ = size;
  scale_ = RowScale(size.width, output_);
}

void Resizer::fill(RgbColor color, void* out) {
  const auto width = static_cast<int>(size_.width);
  const auto height = static_cast<int>(size_.height);
  same_.build(height, 0, height, height, 0, height);
  const size_t stride = row_bytes(width);
  low_.assign(stride * static_cast<size_t>(height) + kMaxLanes, 0);
  if (color != RgbColor{0, 0, 0}) {
    const auto num_pixels = static_cast<size_t>(width);
    for (int y = 0; y < height; ++y) {
      uint8_t* row = &low_[static_cast<size_t>(y) * stride];
      if (output_.layout == Layout::nhwc) {
        fill_pixels(row, num_pixels, color);
      } else {
        for (size_t c = 0; c < 3; ++c) std::fill_n(row + c * num_pixels, num_pixels, color[c]);
      }
    }
  }
  run_vertical({low_.data(), static_cast<ptrdiff_t>(stride)}, same_, width, 0, 0, out);
}

void Resizer::run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
                  const AxisFilter& filter_y, bool flip, int x, int y, void* out,
                  bool vertical_first) {
  const bool is_planar = output_.layout == Layout::nchw;
  const int num_inputs = filter_x.end() - filter_x.begin();
  const int width = filter_x.num_outputs();
  const int height = filter_y.num_outputs();
  if (!vertical_first) {
    const auto rows = passes_.horizontal(pixels, stride, filter_y.end() - filter_y.begin(),
                                         filter_x, flip, is_planar);
    return run_vertical(rows, filter_y, width, x, y, out);
  }
  VerticalJob job;
  job.rows = pixels;
  job.stride = stride;
  job.num_columns = size_t{3} * static_cast<size_t>(num_inputs);
  job.filter = &filter_y;
  job.out_stride_bytes = static_cast<ptrdiff_t>(row_bytes(num_inputs));
  const size_t low_bytes = row_bytes(num_inputs) * static_cast<size_t>(height) + kMaxLanes;
  if (low_.size() < low_bytes) low_.resize(low_bytes);
  job.out = low_.data();
  passes_.vertical(job);
  const auto rows =
      passes_.horizontal(low_.data(), job.out_stride_bytes, height, filter_x, flip, is_planar);
  same_.build(height, 0, height, height, 0, height);
  run_vertical(rows, same_, width, x, y, out);
}

void Resizer::run_vertical(const ResamplePasses::Rows& rows, const AxisFilter& filter_y, int width,
                           int x, int y, void* out) {
  const bool is_planar = output_.layout == Layout::nchw;
  const size_t pixel_values = is_planar ? 1 : 3;  // next to each other in the output
  const auto out_width = static_cast<size_t>(size_.width);
  const size_t plane_values = out_width * static_cast<size_t>(size_.height);
  const size_t place = (static_cast<size_t>(y) * out_width + static_cast<size_t>(x)) * pixel_values;

  VerticalJob job;
  job.stride = rows.stride;
  job.num_columns = static_cast<size_t>(width) * pixel_values;
  job.filter = &filter_y;
  job.dtype = output_.dtype;
  job.out_stride_bytes = static_cast<ptrdiff_t>(out_width * pixel_values * element_bytes_);
  for (size_t plane = 0; plane < 3 / pixel_values; ++plane) {
    job.rows = rows.data + plane * job.num_columns;
    job.scale = &scale_.scale[plane * out_width];
    job.bias = &scale_.bias[plane * out_width];
    job.out = static_cast<uint8_t*>(out) + (plane * plane_values + place) * element_bytes_;
    passes_.vertical(job);
  }
}

}  // namespace ffkit
