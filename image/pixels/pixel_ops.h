// Operations on pixels, each with all its parameters given: torchvision.transforms.functional on
// PIL images, to the bit.
//
// Sources: torchvision/transforms/_functional_pil.py; Pillow's ImageEnhance.py, ImageOps.py,
// Image.py (rotate) and libImaging (Blend.c, Convert.c, Filter.c, Geometry.c). `scratch` holds
// num_bytes() + kScratchSlack bytes. Pictures are at most 8192 pixels high and wide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>

#include "pixels/pixel_kernels.h"

namespace ffkit {

constexpr size_t kScratchSlack = 64;

// factor 0: black, the mean grey, a grey picture, a smoothed one; 1: the picture itself; more:
// beyond it. Not negative.
void adjust_brightness(const RgbImage& image, double factor);
void adjust_contrast(const RgbImage& image, double factor);
void adjust_saturation(const RgbImage& image, double factor);
void adjust_sharpness(const RgbImage& image, double factor, uint8_t* scratch);

// factor: -0.5 .. 0.5 turns. 0 is not the identity: hue and saturation are rounded to 8 bits.
void adjust_hue(const RgbImage& image, double factor);

void posterize(const RgbImage& image, int bits);         // keeps 1 .. 8 bits of each value
void solarize(const RgbImage& image, double threshold);  // inverts values from `threshold` on
void autocontrast(const RgbImage& image);
void equalize(const RgbImage& image);
void invert(const RgbImage& image);
void grayscale(const RgbImage& image);  // to_grayscale(3)

// One colour, `count` times.
void fill_pixels(uint8_t* out, size_t count, RgbColor color);

// By whole pixels, right and down.
void translate(const RgbImage& image, int dx, int dy, RgbColor fill, uint8_t* scratch);
// F.affine with shear in degrees around the top left corner, nearest pixel.
void shear(const RgbImage& image, double degrees_x, double degrees_y, RgbColor fill,
           uint8_t* scratch);
// Counter-clockwise around the centre, nearest pixel.
void rotate(const RgbImage& image, double degrees, RgbColor fill, uint8_t* scratch);

// GaussianBlurrer: the blurs of Pillow and of torchvision.
//
// Keeps its buffers between pictures. Not thread-safe: one per thread.
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

// Pictures that are turned, sheared or seen from aside: Pillow's Image.transform(AFFINE or
// PERSPECTIVE), to the bit (libImaging/Geometry.c).

// Every pixel of `out` is made where `source` takes its centre to in `image`; `fill` where that is
// outside. `out` must not be the image.
void warp_pixels(const RgbView& image, const ViewMatrix& source, WarpFilter filter, RgbColor fill,
                 const RgbImage& out);

// What Pillow's Image.rotate(degrees) takes: counter-clockwise about the centre.
ViewMatrix rotation_source(double degrees, int width, int height);
// The same about any point, and with the canvas that the turned picture needs.
struct Rotation {
  ViewMatrix source;
  ImageSize size;  // of the new canvas
};
Rotation rotation_about(double degrees, ImageSize picture, std::array<double, 2> center,
                        bool expand);

// _get_inverse_affine_matrix() of torchvision/transforms/v2/functional/_geometry.py, in degrees and
// pixels.
struct AffineParameters {
  double centre_x = 0;
  double centre_y = 0;
  double degrees = 0;
  double shift_x = 0;
  double shift_y = 0;
  double scale = 1;
  double shear_x = 0;
  double shear_y = 0;
};
ViewMatrix affine_source(const AffineParameters& p);

// Calls put(number of the pixel of the new canvas, x, y) for each whose centre lies in pixel (x, y)
// of the old one, which has width x height pixels, and put(number, -1, -1) for all others.
template <typename Put>
void for_nearest(ImageSize canvas, int width, int height, const ViewMatrix& source,
                 const Put& put) {
  size_t i = 0;
  for (int row = 0; row < canvas.height; ++row) {
    for (int column = 0; column < canvas.width; ++column, ++i) {
      const double x = column + 0.5;
      const double y = row + 0.5;
      const double w = source[6] * x + source[7] * y + source[8];
      const double from_x = (source[0] * x + source[1] * y + source[2]) / w;
      const double from_y = (source[3] * x + source[4] * y + source[5]) / w;
      const bool is_inside = from_x >= 0 && from_x < width && from_y >= 0 && from_y < height;
      put(i, is_inside ? static_cast<int>(from_x) : -1, is_inside ? static_cast<int>(from_y) : -1);
    }
  }
}

}  // namespace ffkit
