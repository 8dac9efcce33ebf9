// Geometry of nuScenes: quaternions, rigid poses, 3D boxes, and their projection into cameras.
// Conventions and results are the devkit's (nuscenes.utils.geometry_utils,
// nuscenes.utils.data_classes.Box, pyquaternion), in f64.
//
//   global ◀─ ego_to_global ─ ego (x ahead, y left, z up) ◀─ sensor_to_ego ─ sensor
//
//   box:   p4 ────── p0      x: length, ahead      camera: x right, y down, z ahead
//         p7 ────── p3 |     y: width, left        pixel:  (u, v) = intrinsics * (x/z, y/z, 1)
//          | p5 ───| p1      z: height, up
//         p6 ────── p2       center in the middle
//
// Lengths in metres, angles in radians. Plain values and pure functions: thread-safe.
#pragma once

#include <array>
#include <span>

namespace ffkit::nuscenes {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<double, 9>;  // row-major

// As the tables have them: w, x, y, z; not necessarily of length 1 to the last bit.
struct Quaternion {
  double w = 1;
  double x = 0;
  double y = 0;
  double z = 0;
  bool operator==(const Quaternion&) const = default;
};

// The Hamilton product: first b, then a.
Quaternion operator*(const Quaternion& a, const Quaternion& b);
// conjugate / |q|^2. For a rotation, it is the way back.
Quaternion inverse(const Quaternion& q);
// Whether its length can be brought to 1. No, if its squares are 0, infinite or no numbers.
bool is_rotation(const Quaternion& q);
// The rotation of the normalised q; zeros for the zero quaternion.
Matrix3 rotation_matrix(const Quaternion& q);
// Direction of the rotated x axis in the xy plane, -pi .. pi: the devkit's eval quaternion_yaw().
double yaw_of(const Quaternion& q);
// pyquaternion's yaw_pitch_roll[0], atan2(2 (w z - x y), 1 - 2 (y^2 + z^2)): the yaw of mmdet3d's
// boxes in the lidar frame (1.0 and later). Differs a little from yaw_of() if the box is tilted.
double lidar_yaw_of(const Quaternion& q);

Vector3 multiply(const Matrix3& a, const Vector3& v);
Matrix3 multiply(const Matrix3& a, const Matrix3& b);
Matrix3 transpose(const Matrix3& a);

// From one frame to another, p -> rotation * p + translation, as a row of ego_pose or
// calibrated_sensor.
struct Pose {
  Vector3 translation = {0, 0, 0};
  Quaternion rotation;
};

// From the numbers of a record: x, y, z, qw, qx, qy, qz. Throws Error(corrupt) if there are not 7
// or one is not finite.
Pose make_pose(std::span<const double> numbers);

// A pose as a matrix: what many points are moved by.
struct Transform {
  Matrix3 rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vector3 translation = {0, 0, 0};

  Vector3 operator()(const Vector3& point) const;
};

Transform make_transform(const Pose& pose);
// The devkit's transform_matrix(inverse=True): the transposed rotation. Precondition: `t` is rigid.
Transform inverse(const Transform& t);
// First b, then a.
Transform operator*(const Transform& a, const Transform& b);

// From the frame of a sensor at its time to that of another sensor at its time, through the global
// frame.
Transform between_sensors(const Pose& sensor_to_ego, const Pose& ego_to_global,
                          const Pose& target_to_ego, const Pose& target_ego_to_global);

struct Box {
  Vector3 center = {0, 0, 0};
  Vector3 size = {0, 0, 0};  // width, length, height, as in the tables
  Quaternion rotation;
  Vector3 velocity = {0, 0, 0};
};

// Whether the box has a meaning: its sides are above 0, it has a direction, and its values are
// numbers.
bool has_extent(const Box& box);

// Moves a box to the frame that `pose` maps to, and back.
Box move(const Box& box, const Pose& pose);
Box move_back(const Box& box, const Pose& pose);

// In the order of the devkit's Box.corners(): the four in front, then the four behind, see above.
std::array<Vector3, 8> corners(const Box& box);
// The devkit's points_in_box(): the sides count as inside. If a box has no extent in a direction,
// only points in its plane are inside.
bool contains(const Box& box, const Vector3& point);
// The same for many points: the box's corner and edges are made once.
class BoxInterior {
 public:
  explicit BoxInterior(const Box& box);
  bool contains(const Vector3& point) const;

 private:
  Vector3 corner_;
  std::array<Vector3, 3> edges_;
  std::array<double, 3> squared_lengths_;
};

// centre x y z, size l w h, yaw, velocity x y of a box in the lidar frame, as in mmdet3d's
// detectors.
std::array<double, 9> lidar_box_numbers(const Box& box);
// The box of such numbers, upright in the lidar's frame.
Box lidar_box(const std::array<double, 9>& numbers);

struct Projection {
  double x = 0;  // pixels, the first one's left edge at 0
  double y = 0;
  double depth = 0;  // metres ahead of the camera; with 0 or less x and y mean nothing
};
Projection project(const Matrix3& intrinsics, const Vector3& point_in_camera);

// The devkit's box_in_image() with BoxVisibility.ANY: a corner is in the picture and more than 1 m
// ahead, and all corners are more than 0.1 m ahead. `corners_in_camera`: corners of the box in the
// camera's frame.
bool is_visible(const std::array<Vector3, 8>& corners_in_camera, const Matrix3& intrinsics,
                double width, double height);

}  // namespace ffkit::nuscenes
