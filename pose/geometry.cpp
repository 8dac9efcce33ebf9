#include <algorithm>
#include <cmath>

#include <ffkit/pose/geometry.h>

namespace ffkit::pose {

std::optional<Box> person_box(const Box& annotated, double width, double height, double aspect,
                              double enlargement) {
  const double left = std::max(0.0, annotated.x);
  const double top = std::max(0.0, annotated.y);
  const double right = std::min(width - 1, left + std::max(0.0, annotated.width - 1));
  const double bottom = std::min(height - 1, top + std::max(0.0, annotated.height - 1));
  if (!(annotated.width * annotated.height > 0 && right >= left && bottom >= top)) return {};
  Box box{.x = left, .y = top, .width = right - left, .height = bottom - top};
  const double x = box.x + box.width / 2;
  const double y = box.y + box.height / 2;
  if (box.width > aspect * box.height) {
    box.height = box.width / aspect;
  } else if (box.width < aspect * box.height) {
    box.width = box.height * aspect;
  }
  box.width *= enlargement;
  box.height *= enlargement;
  box.x = x - box.width / 2;
  box.y = y - box.height / 2;
  return box;
}

Point3 pixel_to_camera(const Point3& pixel, const Camera& camera) {
  return {(pixel[0] - camera.centre[0]) / camera.focal[0] * pixel[2],
          (pixel[1] - camera.centre[1]) / camera.focal[1] * pixel[2], pixel[2]};
}

Point3 camera_to_pixel(const Point3& point, const Camera& camera) {
  const double depth = point[2] + 1e-8;
  return {point[0] / depth * camera.focal[0] + camera.centre[0],
          point[1] / depth * camera.focal[1] + camera.centre[1], point[2]};
}

Point3 world_to_camera_f32(const Point3& point, const std::array<double, 9>& rotation,
                           const Point3& translation) {
  Point3 out{};
  for (size_t row = 0; row < 3; ++row) {
    float sum = 0;
    for (size_t i = 0; i < 3; ++i) {
      sum += static_cast<float>(rotation[3 * row + i]) * static_cast<float>(point[i]);
    }
    out[row] = double{sum + static_cast<float>(translation[row])};
  }
  return out;
}

Point3 camera_to_pixel_f32(const Point3& point, const Camera& camera) {
  const auto depth = static_cast<float>(point[2]);
  Point3 out{0, 0, double{depth}};
  for (size_t i = 0; i < 2; ++i) {
    const float on_plane = static_cast<float>(point[i]) / (depth + 1e-8F);
    out[i] = double{on_plane * static_cast<float>(camera.focal[i]) +
                    static_cast<float>(camera.centre[i])};
  }
  return out;
}

double distance_of_area(double area, const Camera& camera, double real_area) {
  return std::sqrt(real_area * camera.focal[0] * camera.focal[1] / area);
}

}  // namespace ffkit::pose
