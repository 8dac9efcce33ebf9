// cv::resize, for Interpolation::opencv_bilinear.
#pragma once

#include <ffkit/image/image_info.h>

namespace ffkit {

// Whether this build has OpenCV.
bool has_opencv();

// cv::resize with INTER_LINEAR of `pixels` to the width x height pixels of three bytes at `out`,
// without gaps between rows. Throws Error(unsupported) without OpenCV.
void resize_by_opencv(const RgbView& pixels, int width, int height, uint8_t* out);
void resize_by_opencv(const WideRgbView& pixels, int width, int height, uint16_t* out);

}  // namespace ffkit
