#include "resize/opencv_resize.h"

#ifdef FFKIT_OPENCV
#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>
#endif

#include <ffkit/base/error.h>

namespace ffkit {

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
