#include <ffkit/image/affine_crop.h>

#ifdef FFKIT_OPENCV
#include <cmath>

#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>
#endif

#include <ffkit/base/error.h>

namespace ffkit {

std::array<double, 2> crop_point(const AffineCrop& crop, const AffineMap& map, int picture_width,
                                 double x, double y) {
  if (crop.mirrored) x = picture_width - x - 1;
  return {map[0] * x + map[1] * y + map[2], map[3] * x + map[4] * y + map[5]};
}

#ifdef FFKIT_OPENCV

namespace {

constexpr double kPi = 3.141592653589793;

// (x, y) turned by an angle: computed in double, kept in float.
cv::Point2f turned(float x, float y, double sine, double cosine) {
  return {static_cast<float>(x * cosine - y * sine), static_cast<float>(x * sine + y * cosine)};
}

// The centre, and the points in the middle of the lower and of the right side.
std::array<cv::Point2f, 3> three_points(cv::Point2f centre, cv::Point2f down, cv::Point2f right) {
  return {centre, centre + down, centre + right};
}

}  // namespace

AffineMap affine_map(const AffineCrop& crop, int picture_width, ImageSize size) {
  double x = crop.x + 0.5 * crop.width;
  const double y = crop.y + 0.5 * crop.height;
  if (crop.mirrored) x = picture_width - x - 1;
  const double angle = kPi * crop.degrees / 180;
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const auto half_width = static_cast<float>(crop.width * 0.5);
  const auto half_height = static_cast<float>(crop.height * 0.5);
  const std::array from =
      three_points({static_cast<float>(x), static_cast<float>(y)},
                   turned(0, half_height, sine, cosine), turned(half_width, 0, sine, cosine));
  const auto to_x = static_cast<float>(double(size.width) * 0.5);
  const auto to_y = static_cast<float>(double(size.height) * 0.5);
  const std::array to = three_points({to_x, to_y}, {0, to_y}, {to_x, 0});
  const cv::Mat map = cv::getAffineTransform(from.data(), to.data());
  AffineMap out;
  for (int i = 0; i < 6; ++i) out[i] = map.at<double>(i / 3, i % 3);
  return out;
}

void crop_pixels(const RgbView& picture, const AffineCrop& crop, const AffineMap& map,
                 const RgbImage& out, std::vector<uint8_t>& scratch) {
  cv::Mat from = as_mat(picture);
  if (crop.mirrored) {
    scratch.resize(size_t{3} * static_cast<size_t>(picture.width) *
                   static_cast<size_t>(picture.height));
    cv::Mat mirror(picture.height, picture.width, CV_8UC3, scratch.data());
    cv::flip(from, mirror, 1);
    from = mirror;
  }
  cv::Mat to = as_mat(out);
  cv::warpAffine(from, to, cv::Mat(2, 3, CV_64F, const_cast<double*>(map.data())), to.size(),
                 cv::INTER_LINEAR, cv::BORDER_CONSTANT, cv::Scalar());
}

#else

AffineMap affine_map(const AffineCrop&, int, ImageSize) {
  throw Error(ErrorCode::unsupported, "this build has no OpenCV; build with -DFFKIT_OPENCV=ON");
}

void crop_pixels(const RgbView&, const AffineCrop&, const AffineMap&, const RgbImage&,
                 std::vector<uint8_t>&) {
  throw Error(ErrorCode::unsupported, "this build has no OpenCV; build with -DFFKIT_OPENCV=ON");
}

#endif

}  // namespace ffkit
