// Pictures as cv::Mat, without a copy, for pixel transforms that call OpenCV. Header only, for
// programs that link OpenCV's core:
//
//   void apply(const ffkit::RgbImage& image, ffkit::CounterRandom& random) const override {
//     cv::Mat pixels = ffkit::as_mat(image);
//     cv::GaussianBlur(pixels.clone(), pixels, {5, 5}, 0);
//   }
//
// The result must be written to the same pixels. OpenCV's functions of colours expect B, G, R;
// ffkit's channels are R, G, B. Use cv::COLOR_RGB2HSV, not cv::COLOR_BGR2HSV.
#pragma once

#include <opencv2/core/mat.hpp>

#include <ffkit/image/image_info.h>

namespace ffkit {

// [height, width] of three u8, which may be changed. Valid as long as the pixels are.
inline cv::Mat as_mat(const RgbImage& image) {
  return {image.height, image.width, CV_8UC3, image.data};
}

// As above. Do not write to these pixels; cv::Mat has no constant form.
inline cv::Mat as_mat(const RgbView& view) {
  return {view.height, view.width, CV_8UC3, const_cast<uint8_t*>(view.data),
          static_cast<size_t>(view.stride)};
}

}  // namespace ffkit
