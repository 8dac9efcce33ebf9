// Reading poses and other numbers of nuScenes records. Pure functions: thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/format/record.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/record.h>

namespace ffkit::nuscenes {

// N numbers of a tensor field; throws Error(corrupt) when there are others.
template <size_t N>
std::array<double, N> read_numbers(const FieldView& field) {
  const TensorView tensor = field.tensor();
  std::array<double, N> numbers{};
  if (tensor.dtype != DType::f64 || tensor.data.size() != sizeof(numbers)) {
    throw Error(ErrorCode::corrupt, "a pose or matrix has another shape than it should have");
  }
  std::memcpy(numbers.data(), tensor.data.data(), sizeof(numbers));
  return numbers;
}

inline Pose read_pose(const FieldView& field) {
  return make_pose(read_numbers<7>(field));
}

// Where the fields of one sensor are in keyframes, or, with an empty channel, those of sweeps.
struct SensorFields {
  SensorFields(const Schema& schema, const std::string& channel);

  size_t sensor_to_ego = 0;
  size_t ego_to_global = 0;
  size_t timestamp = 0;
};

struct SensorState {
  Pose sensor_to_ego;
  Pose ego_to_global;
  int64_t timestamp = 0;
};

SensorState read_state(const RecordView& record, const SensorFields& fields);

inline Transform between(const SensorState& from, const SensorState& to) {
  return between_sensors(from.sensor_to_ego, from.ego_to_global, to.sensor_to_ego,
                         to.ego_to_global);
}

}  // namespace ffkit::nuscenes
