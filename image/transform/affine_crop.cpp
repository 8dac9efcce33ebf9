#include <ffkit/image/affine_crop.h>

#ifdef FFKIT_OPENCV
#include <cmath>
#include <limits>
#include <utility>

#include <opencv2/imgproc.hpp>

#include <ffkit/image/opencv.h>
#endif

#include <ffkit/format/error.h>

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

// cv::getAffineTransform() to the bit, whose equations LU with partial pivots solves. The call itself brings LAPACK along, which a static OpenCV lacks.
AffineMap map_of_points(const std::array<cv::Point2f, 3>& from,
                        const std::array<cv::Point2f, 3>& to) {
  double a[6][6] = {};
  double b[6] = {};
  for (size_t i = 0; i < 3; ++i) {
    const size_t x = 2 * i, y = 2 * i + 1;
    a[x][0] = a[y][3] = double(from[i].x);
    a[x][1] = a[y][4] = double(from[i].y);
    a[x][2] = a[y][5] = 1;
    b[x] = double(to[i].x);
    b[y] = double(to[i].y);
  }
  for (size_t i = 0; i < 6; ++i) {
    size_t pivot = i;
    for (size_t j = i + 1; j < 6; ++j) {
      if (std::abs(a[j][i]) > std::abs(a[pivot][i])) pivot = j;
    }
    if (std::abs(a[pivot][i]) < std::numeric_limits<double>::epsilon() * 100)
      return {};  // a box without extent
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    const double d = -1 / a[i][i];
    for (size_t j = i + 1; j < 6; ++j) {
      const double alpha = a[j][i] * d;
      for (size_t k = i + 1; k < 6; ++k) a[j][k] += alpha * a[i][k];
      b[j] += alpha * b[i];
    }
  }
  AffineMap map;
  for (size_t i = 6; i-- > 0;) {
    double sum = b[i];
    for (size_t k = i + 1; k < 6; ++k) sum -= a[i][k] * map[k];
    map[i] = sum / a[i][i];
  }
  return map;
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
  return map_of_points(from, to);
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
