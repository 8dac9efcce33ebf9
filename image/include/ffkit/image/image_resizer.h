// ImageResizer: makes whole pictures larger or smaller, with Pillow's pixels (see Interpolation).
#pragma once

#include <memory>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/interpolation.h>

namespace ffkit {

// Resizes one picture after another and keeps its memory between them. Not thread-safe: one per
// thread.
class ImageResizer {
 public:
  ImageResizer();
  ~ImageResizer();
  ImageResizer(ImageResizer&&) noexcept;
  ImageResizer& operator=(ImageResizer&&) noexcept;

  // Pillow's Image.resize((width, height)) of `pixels`. The view lives until the next call.
  // `pixels` must have 64 readable bytes behind the last row (RgbView), as the result has, and must
  // not be a result of this resizer. Throws Error(invalid_argument) for a size below 1,
  // Error(unsupported) for OpenCV's filter; call cv::resize() for that one.
  RgbView resize(const RgbView& pixels, int width, int height,
                 Interpolation interpolation = Interpolation::bilinear);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
