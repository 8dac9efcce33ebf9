// GaussianBlurrer: the blurs of Pillow and of torchvision.
//
// Keeps its buffers between pictures. Not thread-safe: one per thread.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/image/rgb_image.h>

#include "pixels/pixel_kernels.h"

namespace ffkit {

class GaussianBlurrer {
 public:
  // Pillow's ImageFilter.GaussianBlur(sigma), three box blurs along each axis, to the bit: sigma is
  // 0 .. 100.
  void blur_as_pillow(const RgbImage& image, double sigma);

  // torchvision's gaussian_blur(kernel_size, sigma): a kernel of kernel_size x kernel_size weights,
  // an odd number; the picture is mirrored at its edges. sigma is more than 0. Floats are summed
  // along one axis and then along the other, not in two dimensions: where the sum is next to a
  // half, the result may differ by 1.
  void blur_as_torchvision(const RgbImage& image, int kernel_size, double sigma);

 private:
  void blur_rows(const RgbImage& image, const BoxBlur& blur);
  void blur_columns(const RgbImage& image, const BoxBlur& blur);

  std::vector<uint8_t> bytes_;  // two rows or strips
  std::vector<float> floats_;   // a row with its edges, and 2 * radius + 1 rows
  std::vector<float> weights_;
  std::vector<const float*> rows_;
};

}  // namespace ffkit
