// Affine crops: a rectangle of a picture, turned and scaled into a picture of a given size, as code
// for poses cuts out persons, with OpenCV's pixels.
//
//   picture ─▶ mirrored? ─▶ cv::warpAffine by affine_map() ─▶ [height, width, 3] u8
//   a point of the picture ─▶ crop_point() ─▶ where it lies in the crop
//
// The map is that of gen_trans_from_patch_cv() in 3DMPPE_ROOTNET_RELEASE: three points in float32,
// through cv::getAffineTransform(). The pixels are those of the linked OpenCV's own call, to the
// bit: bilinear, black outside of the picture. Versions of OpenCV differ by up to 3 grey levels in
// some pixels.
//
// All of these throw Error(unsupported) in a build without OpenCV. Thread-safe.
#pragma once

#include <array>
#include <vector>

#include <ffkit/image/image_info.h>
#include <ffkit/image/rgb_image.h>

namespace ffkit {

struct AffineCrop {
  // Of the picture as it is stored, in pixels; may reach out of it. Width and height are positive.
  double x = 0, y = 0, width = 0, height = 0;
  double degrees = 0;     // by which the rectangle is turned, about its centre
  bool mirrored = false;  // the picture is mirrored first, left to right
};

// Where points of the picture, mirrored if the crop is, lie in the crop: x' = m[0] x + m[1] y +
// m[2], y' = m[3] x + m[4] y + m[5].
using AffineMap = std::array<double, 6>;

// `picture_width`: of the picture that is cropped, for mirrored ones. `size`: of the crop, in
// pixels.
AffineMap affine_map(const AffineCrop& crop, int picture_width, ImageSize size);

// The place in the crop of a point (x, y) of the picture.
std::array<double, 2> crop_point(const AffineCrop& crop, const AffineMap& map, int picture_width,
                                 double x, double y);

// Writes the crop to `out`, whose size is the one that `map` was made for. `scratch` is memory for
// a mirrored picture.
void crop_pixels(const RgbView& picture, const AffineCrop& crop, const AffineMap& map,
                 const RgbImage& out, std::vector<uint8_t>& scratch);

}  // namespace ffkit
