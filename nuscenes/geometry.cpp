#include <algorithm>
#include <cmath>

#include <ffkit/nuscenes/geometry.h>

#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

double dot(const Vector3& a, const Vector3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Vector3 subtract(const Vector3& a, const Vector3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

Vector3 add(const Vector3& a, const Vector3& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

double squared_norm(const Quaternion& q) {
  return q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
}

Box rotate(const Box& box, const Quaternion& rotation) {
  const Matrix3 matrix = rotation_matrix(rotation);
  return {.center = multiply(matrix, box.center),
          .size = box.size,
          .rotation = rotation * box.rotation,
          .velocity = multiply(matrix, box.velocity)};
}

}  // namespace

Quaternion operator*(const Quaternion& a, const Quaternion& b) {
  return {
      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.x * b.w + a.w * b.x - a.z * b.y + a.y * b.z,
      a.y * b.w + a.z * b.x + a.w * b.y - a.x * b.z, a.z * b.w - a.y * b.x + a.x * b.y + a.w * b.z};
}

Quaternion inverse(const Quaternion& q) {
  const double norm = squared_norm(q);
  return {q.w / norm, -q.x / norm, -q.y / norm, -q.z / norm};
}

bool is_rotation(const Quaternion& q) {
  const double squared_length = squared_norm(q);
  return squared_length > 1e-12 && squared_length < 1e12;
}

Matrix3 rotation_matrix(const Quaternion& q) {
  const double norm = std::sqrt(squared_norm(q));
  if (norm == 0) return {};
  const double w = q.w / norm;
  const double x = q.x / norm;
  const double y = q.y / norm;
  const double z = q.z / norm;
  return {
      w * w + x * x - y * y - z * z, 2 * (x * y - w * z),           2 * (x * z + w * y),
      2 * (x * y + w * z),           w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
      2 * (x * z - w * y),           2 * (y * z + w * x),           w * w - x * x - y * y + z * z};
}

double yaw_of(const Quaternion& q) {
  const Matrix3 matrix = rotation_matrix(q);
  return std::atan2(matrix[3], matrix[0]);
}

double lidar_yaw_of(const Quaternion& q) {
  const double norm = std::sqrt(squared_norm(q));
  const Quaternion u{q.w / norm, q.x / norm, q.y / norm, q.z / norm};
  return std::atan2(2 * (u.w * u.z - u.x * u.y), 1 - 2 * (u.y * u.y + u.z * u.z));
}

Vector3 multiply(const Matrix3& a, const Vector3& v) {
  return {a[0] * v[0] + a[1] * v[1] + a[2] * v[2], a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
          a[6] * v[0] + a[7] * v[1] + a[8] * v[2]};
}

Matrix3 multiply(const Matrix3& a, const Matrix3& b) {
  Matrix3 product{};
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 3; ++column) {
      for (size_t k = 0; k < 3; ++k)
        product[3 * row + column] += a[3 * row + k] * b[3 * k + column];
    }
  }
  return product;
}

Matrix3 transpose(const Matrix3& a) {
  return {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]};
}

Pose make_pose(std::span<const double> numbers) {
  if (numbers.size() != 7) {
    throw error_of(ErrorCode::corrupt,
                   "the pose has {} numbers, but must have 7: x, y, z, qw, qx, qy, qz",
                   numbers.size());
  }
  for (const double number : numbers) {
    if (!std::isfinite(number)) {
      throw Error(ErrorCode::corrupt, "the pose has a number that is not finite");
    }
  }
  return {{numbers[0], numbers[1], numbers[2]}, {numbers[3], numbers[4], numbers[5], numbers[6]}};
}

Vector3 Transform::operator()(const Vector3& point) const {
  return add(multiply(rotation, point), translation);
}

Transform make_transform(const Pose& pose) {
  return {rotation_matrix(pose.rotation), pose.translation};
}

Transform inverse(const Transform& t) {
  const Matrix3 rotation = transpose(t.rotation);
  const Vector3 back = multiply(rotation, t.translation);
  return {rotation, {-back[0], -back[1], -back[2]}};
}

Transform operator*(const Transform& a, const Transform& b) {
  return {multiply(a.rotation, b.rotation), a(b.translation)};
}

Transform between_sensors(const Pose& sensor_to_ego, const Pose& ego_to_global,
                          const Pose& target_to_ego, const Pose& target_ego_to_global) {
  // From left to right, as the devkit's reduce(np.dot, ...): coordinates in the global frame are
  // large, and the order shows in the last bits.
  return inverse(make_transform(target_to_ego)) * inverse(make_transform(target_ego_to_global)) *
         make_transform(ego_to_global) * make_transform(sensor_to_ego);
}

bool has_extent(const Box& box) {
  return is_rotation(box.rotation) &&
         std::ranges::all_of(box.center, [](double at) { return std::isfinite(at); }) &&
         std::ranges::all_of(box.size, [](double side) { return side > 0 && std::isfinite(side); });
}

Box move(const Box& box, const Pose& pose) {
  Box moved = rotate(box, pose.rotation);
  moved.center = add(moved.center, pose.translation);
  return moved;
}

Box move_back(const Box& box, const Pose& pose) {
  Box moved = box;
  moved.center = subtract(box.center, pose.translation);
  return rotate(moved, inverse(pose.rotation));
}

std::array<Vector3, 8> corners(const Box& box) {
  constexpr std::array<std::array<int, 3>, 8> kSigns = {{{1, 1, 1},
                                                         {1, -1, 1},
                                                         {1, -1, -1},
                                                         {1, 1, -1},
                                                         {-1, 1, 1},
                                                         {-1, -1, 1},
                                                         {-1, -1, -1},
                                                         {-1, 1, -1}}};
  const Matrix3 matrix = rotation_matrix(box.rotation);
  std::array<Vector3, 8> points{};
  for (size_t i = 0; i < points.size(); ++i) {
    const Vector3 from_center = {box.size[1] / 2 * kSigns[i][0], box.size[0] / 2 * kSigns[i][1],
                                 box.size[2] / 2 * kSigns[i][2]};
    points[i] = add(multiply(matrix, from_center), box.center);
  }
  return points;
}

BoxInterior::BoxInterior(const Box& box) {
  const auto points = corners(box);
  corner_ = points[0];
  edges_ = {subtract(points[4], corner_), subtract(points[1], corner_),
            subtract(points[3], corner_)};
  for (size_t i = 0; i < edges_.size(); ++i) squared_lengths_[i] = dot(edges_[i], edges_[i]);
}

bool BoxInterior::contains(const Vector3& point) const {
  const Vector3 from_corner = subtract(point, corner_);
  for (size_t i = 0; i < edges_.size(); ++i) {
    const double along = dot(edges_[i], from_corner);
    if (!(along >= 0 && along <= squared_lengths_[i])) return false;
  }
  return true;
}

bool contains(const Box& box, const Vector3& point) {
  return BoxInterior(box).contains(point);
}

std::array<double, 9> lidar_box_numbers(const Box& box) {
  return {box.center[0],
          box.center[1],
          box.center[2],
          box.size[1],
          box.size[0],
          box.size[2],
          lidar_yaw_of(box.rotation),
          box.velocity[0],
          box.velocity[1]};
}

Box lidar_box(const std::array<double, 9>& numbers) {
  return {.center = {numbers[0], numbers[1], numbers[2]},
          .size = {numbers[4], numbers[3], numbers[5]},
          .rotation = {std::cos(numbers[6] / 2), 0, 0, std::sin(numbers[6] / 2)},
          .velocity = {numbers[7], numbers[8], 0}};
}

Projection project(const Matrix3& intrinsics, const Vector3& point_in_camera) {
  const Vector3 p = multiply(intrinsics, point_in_camera);
  return {p[0] / p[2], p[1] / p[2], point_in_camera[2]};
}

bool is_visible(const std::array<Vector3, 8>& corners_in_camera, const Matrix3& intrinsics,
                double width, double height) {
  bool some_inside = false;
  for (const Vector3& corner : corners_in_camera) {
    if (!(corner[2] > 0.1)) return false;
    const Projection at = project(intrinsics, corner);
    some_inside =
        some_inside || (at.x > 0 && at.x < width && at.y > 0 && at.y < height && corner[2] > 1);
  }
  return some_inside;
}

}  // namespace ffkit::nuscenes
