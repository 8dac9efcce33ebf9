// Reading what is stored in nuScenes records: poses and other numbers of sensors, and boxes. Pure
// functions, and what never changes: thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/format/record.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>

namespace ffkit::nuscenes {

// Reading poses and other numbers of nuScenes records. Pure functions: thread-safe.
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

// The boxes of a keyframe's record, and which of them BoxOptions keeps. Points into
// the record. Immutable, so thread-safe.
class StoredBoxes {
 public:
  using Numbers = std::array<float, 9>;

  // The fields boxes/class, boxes/valid and boxes/lidar of one record; without the last one there
  // are no numbers(). Throws Error(corrupt) unless they are of the same boxes.
  StoredBoxes(const FieldView& classes, const FieldView& valid,
              const std::optional<FieldView>& boxes);

  int64_t size() const { return count_; }
  int64_t class_number(int64_t i) const;
  Numbers numbers(int64_t i) const;  // as they are stored
  // Whether class and points let the box pass; its centre is a matter of is_in_range().
  bool passes(int64_t i, const BoxOptions& options) const;

 private:
  TensorView classes_;
  TensorView valid_;
  TensorView boxes_;
  int64_t count_;
};

// Whether the centre of `box` is where options.range says.
bool is_in_range(const StoredBoxes::Numbers& box, const BoxOptions& options);

// Throws Error(invalid_argument) naming the first value that is out of range.
void validate(const BoxOptions& options);

}  // namespace ffkit::nuscenes
