#include "test_prelude.h"

#ifdef FFKIT_OPENCV
#include <opencv2/imgproc.hpp>

#include <ffkit/image/affine_crop.h>
#include <ffkit/image/opencv.h>

namespace ffkit {
namespace {

constexpr int kAffineWidth = 61;
constexpr int kAffineHeight = 43;
constexpr int kAffineSide = 32;

std::vector<uint8_t> speckled_pixels() {
  std::vector<uint8_t> pixels(size_t{3} * kAffineWidth * kAffineHeight);
  uint32_t state = 1;
  for (uint8_t& value : pixels)
    value = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return pixels;
}

RgbView view_of(const std::vector<uint8_t>& pixels) {
  return {.data = pixels.data(),
          .width = kAffineWidth,
          .height = kAffineHeight,
          .stride = 3 * kAffineWidth};
}

std::vector<uint8_t> cropped(const RgbView& picture, const AffineCrop& crop) {
  std::vector<uint8_t> out(size_t{3} * kAffineSide * kAffineSide, 7);
  std::vector<uint8_t> scratch;
  crop_pixels(picture, crop, affine_map(crop, picture.width, kAffineSide),
              {.data = out.data(), .width = kAffineSide, .height = kAffineSide}, scratch);
  return out;
}

// Values of cv2.getAffineTransform on the float32 points of gen_trans_from_patch_cv(), computed in
// Python.
TEST(AffineCrop, MapTakesCentreAndSidesOfTheBoxToThoseOfTheCrop) {
  const AffineCrop crop{.x = 10, .y = 4, .width = 20, .height = 20};
  const AffineMap map = affine_map(crop, kAffineWidth, kAffineSide);
  EXPECT_NEAR(map[0], 1.6, 1e-12);
  EXPECT_NEAR(map[1], 0, 1e-12);
  EXPECT_NEAR(map[2], -16, 1e-12);
  EXPECT_NEAR(map[5], -6.4, 1e-12);
  const auto [x, y] = crop_point(crop, map, kAffineWidth, 30, 24);
  EXPECT_NEAR(x, 32, 1e-12);
  EXPECT_NEAR(y, 32, 1e-12);
}

TEST(AffineCrop, TurnsAndMirrorsPoints) {
  AffineCrop crop{.x = 10, .y = 4, .width = 20, .height = 20, .degrees = 90};
  // Turned by 90 degrees, the point to the right of the centre comes from below it.
  auto [x, y] = crop_point(crop, affine_map(crop, kAffineWidth, kAffineSide), kAffineWidth, 20, 24);
  EXPECT_NEAR(x, 32, 1e-5);
  EXPECT_NEAR(y, 16, 1e-5);
  crop = {.x = 10, .y = 4, .width = 20, .height = 20, .mirrored = true};
  std::tie(x, y) = [&] {
    const auto point =
        crop_point(crop, affine_map(crop, kAffineWidth, kAffineSide), kAffineWidth, 20 - 5, 14);
    return std::pair(point[0], point[1]);
  }();
  EXPECT_NEAR(x, 16 + 5 * 1.6, 1e-5);
  EXPECT_NEAR(y, 16, 1e-5);
}

TEST(AffineCrop, PixelsAreThoseOfWarpAffine) {
  const std::vector<uint8_t> pixels = speckled_pixels();
  for (const bool mirrored : {false, true}) {
    const AffineCrop crop{
        .x = -7.3, .y = 11.1, .width = 50.7, .height = 50.7, .degrees = 23, .mirrored = mirrored};
    cv::Mat from = as_mat(view_of(pixels)).clone();
    for (int row = 0; mirrored && row < from.rows; ++row) {
      for (int left = 0; left < from.cols / 2; ++left) {
        std::swap(from.at<cv::Vec3b>(row, left), from.at<cv::Vec3b>(row, from.cols - 1 - left));
      }
    }
    const AffineMap map = affine_map(crop, kAffineWidth, kAffineSide);
    const cv::Mat matrix(2, 3, CV_64F, const_cast<double*>(map.data()));
    cv::Mat wanted;
    cv::warpAffine(from, wanted, matrix, {kAffineSide, kAffineSide}, cv::INTER_LINEAR);
    const std::vector<uint8_t> own = cropped(view_of(pixels), crop);
    EXPECT_EQ(own, std::vector<uint8_t>(wanted.data, wanted.data + own.size()));
    // The box reaches out of the picture, and what is there is black.
    EXPECT_EQ(std::vector<uint8_t>(own.end() - 3, own.end()), std::vector<uint8_t>(3, 0));
  }
}

}  // namespace
}  // namespace ffkit
#endif
