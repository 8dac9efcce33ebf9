// Geometry of persons in front of a camera, as common/utils/pose_utils.py of 3DMPPE_ROOTNET_RELEASE
// computes it. Pure functions: thread-safe.
#pragma once

#include <array>
#include <optional>

namespace ffkit::pose {

struct Box {
  double x = 0, y = 0;  // top left corner, pixels
  double width = 0, height = 0;

  [[nodiscard]] double area() const noexcept { return width * height; }
  bool operator==(const Box&) const = default;
};

using Point3 = std::array<double, 3>;

struct Camera {
  std::array<double, 2> focal = {1, 1};   // pixels
  std::array<double, 2> centre = {0, 0};  // principal point, pixels
};

// The crop for an annotated box (process_bbox): the box is clipped to a picture of width x height
// pixels, grows until it is `aspect` times as wide as high, and becomes `enlargement` times as
// large about its centre. Nothing if it has no pixel of the picture. A box of a single pixel has no
// extent.
std::optional<Box> person_box(const Box& annotated, double width, double height, double aspect = 1,
                              double enlargement = 1.25);

// From (x, y in pixels, depth) to (X, Y, Z) and back. The inverse adds 1e-8 to the depth, so that
// it never divides by zero.
Point3 pixel_to_camera(const Point3& pixel, const Camera& camera);
Point3 camera_to_pixel(const Point3& point, const Camera& camera);

// Converts annotations of Human3.6M and 3DPW to camera coordinates like the published code, in
// float32 and in the same order. `rotation` is [3, 3], row by row. The results are float32 numbers.
Point3 world_to_camera_f32(const Point3& point, const std::array<double, 9>& rotation,
                           const Point3& translation);
Point3 camera_to_pixel_f32(const Point3& point, const Camera& camera);

// RootNet's k: sqrt(real_area * fx * fy / area). It is the distance of a person whose box has
// `area` pixels and a real size of `real_area`: 2000 mm x 2000 mm.
double distance_of_area(double area, const Camera& camera, double real_area = 2000.0 * 2000.0);

}  // namespace ffkit::pose
