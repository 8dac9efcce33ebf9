#include <cmath>

#include <ffkit/nuscenes/bev_augmentation.h>

#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

constexpr double kPi = 3.14159265358979323846;
// See random_streams.h of the loader.
constexpr uint8_t kBevStream = 3;

void check(const char* name, double low, double high, double min, double max) {
  if (low >= min && high >= low && high <= max) return;
  throw error_of(ErrorCode::invalid_argument,
                 "BevAugmentation {} is {:g} to {:g}; expected {:g} <= min <= max <= {:g}", name,
                 low, high, min, max);
}

}  // namespace

void validate(const BevAugmentation& augmentation) {
  check("rotation", augmentation.rotation_min, augmentation.rotation_max, -2 * kPi, 2 * kPi);
  check("scale", augmentation.scale_min, augmentation.scale_max, 0.01, 100);
  check("flip_x_probability", augmentation.flip_x_probability, augmentation.flip_x_probability, 0,
        1);
  check("flip_y_probability", augmentation.flip_y_probability, augmentation.flip_y_probability, 0,
        1);
}

DrawnBev draw(const BevAugmentation& augmentation, const SampleKey& key) {
  CounterRandom random(key, kBevStream);
  DrawnBev drawn;
  drawn.rotation = random.uniform(augmentation.rotation_min, augmentation.rotation_max);
  drawn.scale = random.uniform(augmentation.scale_min, augmentation.scale_max);
  drawn.flip_x = random.uniform() < augmentation.flip_x_probability;
  drawn.flip_y = random.uniform() < augmentation.flip_y_probability;
  return drawn;
}

Transform DrawnBev::matrix() const {
  const double x = (flip_x ? -1 : 1) * scale;
  const double y = (flip_y ? -1 : 1) * scale;
  const double c = std::cos(rotation);
  const double s = std::sin(rotation);
  return {.rotation = {x * c, -x * s, 0, y * s, y * c, 0, 0, 0, scale}};
}

Transform DrawnBev::inverse_matrix() const {
  Transform back{.rotation = transpose(matrix().rotation)};
  for (double& value : back.rotation) value /= scale * scale;
  return back;
}

std::array<float, 9> DrawnBev::operator()(const std::array<float, 9>& box) const {
  const Transform move = matrix();
  const Vector3 center = move({box[0], box[1], box[2]});
  const Vector3 velocity = move({box[7], box[8], 0});
  double yaw = box[6] + rotation;
  if (flip_y) yaw = -yaw;
  if (flip_x) yaw = kPi - yaw;
  yaw -= 2 * kPi * std::floor((yaw + kPi) / (2 * kPi));  // -pi .. pi
  const auto scaled = [&](float value) { return static_cast<float>(value * scale); };
  return {static_cast<float>(center[0]),
          static_cast<float>(center[1]),
          static_cast<float>(center[2]),
          scaled(box[3]),
          scaled(box[4]),
          scaled(box[5]),
          static_cast<float>(yaw),
          static_cast<float>(velocity[0]),
          static_cast<float>(velocity[1])};
}

}  // namespace ffkit::nuscenes
