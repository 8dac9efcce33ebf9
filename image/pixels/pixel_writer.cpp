#include "pixels/pixel_writer.h"

#include "pixels/write_kernels.h"

namespace ffkit {

PixelWriter::PixelWriter(ImageSize size, const ImageOutput& output)
    : size_(size), output_(output), scale_(size.width, output) {}

void PixelWriter::set_size(ImageSize size) {
  if (size == size_) return;
  size_ = size;
  scale_ = RowScale(size.width, output_);
}

void PixelWriter::run(const uint8_t* pixels, ptrdiff_t stride, void* out) const {
  const auto width = static_cast<size_t>(size_.width);
  const size_t row_values = output_.layout == Layout::nchw ? width : 3 * width;
  WriteJob job;
  job.pixels = pixels;
  job.stride = stride;
  job.width = width;
  job.height = static_cast<size_t>(size_.height);
  job.layout = output_.layout;
  job.dtype = output_.dtype;
  job.scale = scale_.scale.data();
  job.bias = scale_.bias.data();
  job.out = out;
  job.out_stride_bytes = static_cast<ptrdiff_t>(row_values * size_of(output_.dtype));
  job.plane_values = width * job.height;
  write_pixels(job);
}

}  // namespace ffkit
