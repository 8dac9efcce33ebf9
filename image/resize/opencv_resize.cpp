#include "resize/opencv_resize.h"

#ifdef FFKIT_OPENCV
#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>
#endif

#include <ffkit/format/error.h>

namespace ffkit {

#ifdef FFKIT_OPENCV

bool has_opencv() {
  return true;
}

void resize_by_opencv(const RgbView& pixels, int width, int height, uint8_t* out) {
  cv::Mat result(height, width, CV_8UC3, out);
  cv::resize(as_mat(pixels), result, result.size(), 0, 0, cv::INTER_LINEAR);
}

#else

bool has_opencv() {
  return false;
}

void resize_by_opencv(const RgbView&, int, int, uint8_t*) {
  throw Error(ErrorCode::unsupported, "this build has no OpenCV; build with -DFFKIT_OPENCV=ON");
}

#endif

}  // namespace ffkit
