// ImageResizer: whole pictures made larger or smaller, with Pillow's pixels: see Interpolation.
#pragma once

#include <memory>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/interpolation.h>

namespace ffkit {

// Resizes pictures one after another and keeps its memory between them. Not thread-safe: one per
// thread.
class ImageResizer {
 public:
  ImageResizer();
  ~ImageResizer();
  ImageResizer(ImageResizer&&) noexcept;
  ImageResizer& operator=(ImageResizer&&) noexcept;

  // Pillow's Image.resize((width, height)) of `pixels`; all sizes are at least 1. The view lives
  // until the next call, and has the 64 readable bytes behind its last row that RgbView asks for;
  // `pixels` must have them too, and be no result of this resizer. Throws Error(invalid_argument)
  // for a size below 1, and Error(unsupported) for OpenCV's filter: call cv::resize for it.
  RgbView resize(const RgbView& pixels, int width, int height,
                 Interpolation interpolation = Interpolation::bilinear);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
