// Affine crops: a rectangle of a picture, rotated and scaled to a given size, as pose estimation
// crops persons. Pixels are OpenCV's.
//
//   picture ─▶ mirrored? ─▶ cv::warpAffine by affine_map() ─▶ [height, width, 3] u8
//   a point of the picture ─▶ crop_point() ─▶ where it lies in the crop
//
// The map is that of gen_trans_from_patch_cv() in 3DMPPE_ROOTNET_RELEASE: cv::getAffineTransform()
// of three points in float32. The linked OpenCV makes the pixels: bilinear, black outside of the
// picture. Versions of OpenCV differ by up to 3 grey levels in some pixels.
//
// All functions throw Error(unsupported) in a build without OpenCV. Thread-safe.
#pragma once

#include <array>
#include <vector>

#include <ffkit/image/image_info.h>

namespace ffkit {

struct AffineCrop {
  // In pixels of the stored picture; the rectangle may reach beyond it. Width and height are > 0.
  double x = 0, y = 0, width = 0, height = 0;
  double degrees = 0;     // the rectangle is turned by this about its centre
  bool mirrored = false;  // the picture is mirrored first, left to right
};

// From a point (x, y) of the picture (mirrored if crop.mirrored) to its place in the crop: x' =
// m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5].
using AffineMap = std::array<double, 6>;

// `picture_width` is the picture's width; mirroring needs it. `size` is the crop's, in pixels.
AffineMap affine_map(const AffineCrop& crop, int picture_width, ImageSize size);

// The place in the crop of a point (x, y) of the stored picture.
std::array<double, 2> crop_point(const AffineCrop& crop, const AffineMap& map, int picture_width,
                                 double x, double y);

// Writes the crop to `out`, which has the size that `map` was made for. `scratch` holds the
// mirrored picture.
void crop_pixels(const RgbView& picture, const AffineCrop& crop, const AffineMap& map,
                 const RgbImage& out, std::vector<uint8_t>& scratch);

}  // namespace ffkit
