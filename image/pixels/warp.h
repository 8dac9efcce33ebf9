// Pictures that are turned, sheared or seen from aside: Pillow's Image.transform(AFFINE or
// PERSPECTIVE), to the bit (libImaging/Geometry.c).
#pragma once

#include <array>
#include <cstddef>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/rgb_image.h>
#include <ffkit/image/view_geometry.h>

namespace ffkit {

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
