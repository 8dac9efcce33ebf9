#include <algorithm>

#include <ffkit/base/error.h>
#include <ffkit/image/image_resizer.h>

#include "base/make_error.h"
#include "codec/pixel_buffer.h"
#include "resize/resample_passes.h"

#ifdef FFKIT_OPENCV
#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>
#endif

namespace ffkit {

bool is_built(Interpolation interpolation) {
  return interpolation != Interpolation::opencv_bilinear || has_opencv();
}

namespace {

static_assert(PixelBuffer::kSlackBytes <= ResamplePasses::kReadableBytes);

}  // namespace

struct ImageResizer::Impl {
  RgbView resize(const RgbView& pixels, int width, int height, Interpolation interpolation) {
    make_room(pixels, width, height);
    filter_x.build(pixels.width, 0, pixels.width, width, 0, width, interpolation);
    filter_y.build(pixels.height, 0, pixels.height, height, 0, height, interpolation);
    return run(pixels, width, height);
  }

  RgbView run(const RgbView& pixels, int width, int height) {
    if (!is_vertical_first(pixels.width, pixels.height, width, height)) {
      const auto rows = passes.horizontal(at_origin(pixels), pixels.stride,
                                          filter_y.end() - filter_y.begin(), filter_x);
      return vertical(rows.data, rows.stride, width);
    }
    const RgbView low =
        vertical(at_origin(pixels), pixels.stride, filter_x.end() - filter_x.begin());
    const auto rows = passes.horizontal(low.data, low.stride, height, filter_x);
    return {rows.data, width, height, rows.stride};
  }

  // The first pixel that is used.
  const uint8_t* at_origin(const RgbView& pixels) const {
    return pixels.data + filter_y.begin() * pixels.stride + ptrdiff_t{3} * filter_x.begin();
  }

  RgbView vertical(const uint8_t* rows, ptrdiff_t stride, int width) {
    const int height = filter_y.num_outputs();
    VerticalJob job;
    job.rows = rows;
    job.stride = stride;
    job.num_columns = size_t{3} * static_cast<size_t>(width);
    job.filter = &filter_y;
    job.out_stride_bytes = static_cast<ptrdiff_t>(row_bytes(width));
    uint8_t* out = result.reserve(row_bytes(width) * static_cast<size_t>(height));
    job.out = out;
    passes.vertical(job);
    return {out, width, height, job.out_stride_bytes};
  }

  // One huge picture must not hold on to its memory while small ones follow.
  void make_room(const RgbView& pixels, int width, int height) {
    if (was_large) passes = {};
    constexpr size_t kKeptBytes = size_t{32} << 20;
    was_large =
        row_bytes(width) * static_cast<size_t>(std::max(pixels.height, height)) > kKeptBytes;
  }

  bool was_large = false;
  AxisFilter filter_x;
  AxisFilter filter_y;
  ResamplePasses passes;
  PixelBuffer result;  // of the vertical pass
};

ImageResizer::ImageResizer() : impl_(errors_only("", [] { return std::make_unique<Impl>(); })) {}
ImageResizer::~ImageResizer() = default;
ImageResizer::ImageResizer(ImageResizer&&) noexcept = default;
ImageResizer& ImageResizer::operator=(ImageResizer&&) noexcept = default;

RgbView ImageResizer::resize(const RgbView& pixels, int width, int height,
                             Interpolation interpolation) {
  if (pixels.width < 1 || pixels.height < 1 || width < 1 || height < 1) {
    throw error_of(ErrorCode::invalid_argument,
                   "a picture of {} x {} pixels cannot be resized to {} x {} pixels; expected 1 "
                   "pixel or more per side",
                   pixels.width, pixels.height, width, height);
  }
  if (interpolation == Interpolation::opencv_bilinear) {
    throw Error(ErrorCode::unsupported,
                "ImageResizer has only Pillow's filters; to resize with the filter of OpenCV, call "
                "cv::resize "
                "(ffkit/image/opencv.h)");
  }
  return errors_only("", [&] { return impl_->resize(pixels, width, height, interpolation); });
}

#ifdef FFKIT_OPENCV

bool has_opencv() {
  return true;
}

void resize_by_opencv(const RgbView& pixels, int width, int height, uint8_t* out) {
  cv::Mat result(height, width, CV_8UC3, out);
  cv::resize(as_mat(pixels), result, result.size(), 0, 0, cv::INTER_LINEAR);
}

void resize_by_opencv(const WideRgbView& pixels, int width, int height, uint16_t* out) {
  // It is only read.
  const cv::Mat source(pixels.height, pixels.width, CV_16UC3, const_cast<uint16_t*>(pixels.data),
                       static_cast<size_t>(pixels.stride) * sizeof(uint16_t));
  cv::Mat result(height, width, CV_16UC3, out);
  cv::resize(source, result, result.size(), 0, 0, cv::INTER_LINEAR);
}

#else

bool has_opencv() {
  return false;
}

namespace {

[[noreturn]] void throw_no_opencv() {
  throw Error(ErrorCode::unsupported, "this build has no OpenCV; build with -DFFKIT_OPENCV=ON");
}

}  // namespace

void resize_by_opencv(const RgbView&, int, int, uint8_t*) {
  throw_no_opencv();
}

void resize_by_opencv(const WideRgbView&, int, int, uint16_t*) {
  throw_no_opencv();
}

#endif

}  // namespace ffkit
