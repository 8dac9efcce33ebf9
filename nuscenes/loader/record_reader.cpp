#include "record_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

std::string name_of(const std::string& channel, const char* field) {
  return channel.empty() ? field : channel_field(channel, field);
}

}  // namespace

SensorFields::SensorFields(const Schema& schema, const std::string& channel)
    : sensor_to_ego(schema.require(name_of(channel, channel::kSensorToEgo))),
      ego_to_global(schema.require(name_of(channel, channel::kEgoToGlobal))),
      timestamp(schema.require(name_of(channel, channel::kTimestamp))) {}

SensorState read_state(const RecordView& record, const SensorFields& fields) {
  return {.sensor_to_ego = read_pose(record.field(fields.sensor_to_ego)),
          .ego_to_global = read_pose(record.field(fields.ego_to_global)),
          .timestamp = record.scalar<int64_t>(fields.timestamp)};
}

StoredBoxes::StoredBoxes(const FieldView& classes, const FieldView& valid, const FieldView& boxes)
    : classes_(classes.tensor()),
      valid_(valid.tensor()),
      boxes_(boxes.tensor()),
      count_(std::ssize(valid_.data)) {
  const auto refuse = [&](const TensorView& field, const char* what) {
    throw error_of(ErrorCode::corrupt, "the boxes have {} of {} [{}], but {} valid flags", what,
                   to_string(field.dtype), fmt::join(field.shape, ", "), count_);
  };
  if (classes_.shape != std::vector<int64_t>{count_} || classes_.dtype != DType::i64) {
    refuse(classes_, "classes");
  }
  if (boxes_.shape != std::vector<int64_t>{count_, std::tuple_size_v<Numbers>} ||
      boxes_.dtype != DType::f32) {
    refuse(boxes_, "numbers");
  }
}

int64_t StoredBoxes::class_number(int64_t i) const {
  int64_t number = 0;
  std::memcpy(&number, classes_.data.data() + static_cast<size_t>(i) * sizeof(number),
              sizeof(number));
  return number;
}

StoredBoxes::Numbers StoredBoxes::numbers(int64_t i) const {
  Numbers numbers{};
  std::memcpy(numbers.data(), boxes_.data.data() + static_cast<size_t>(i) * sizeof(numbers),
              sizeof(numbers));
  return numbers;
}

bool StoredBoxes::is_box(int64_t i) const {
  std::array<double, std::tuple_size_v<Numbers>> box;
  std::ranges::copy(numbers(i), box.begin());
  return has_extent(lidar_box(box));
}

bool StoredBoxes::passes(int64_t i, const BoxOptions& options) const {
  if (options.only_valid && valid_.data[i] == std::byte{0}) return false;
  return !options.only_classes || class_number(i) >= 0;
}

bool is_in_range(const StoredBoxes::Numbers& box, const BoxOptions& options) {
  if (!options.range) return true;
  const BevRange& range = *options.range;
  return box[0] > static_cast<float>(range.x_min) && box[1] > static_cast<float>(range.y_min) &&
         box[0] < static_cast<float>(range.x_max) && box[1] < static_cast<float>(range.y_max);
}

void validate(const BoxOptions& options) {
  if (options.max_boxes < 1) {
    throw error_of(ErrorCode::invalid_argument, "max_boxes is {}; expected at least 1",
                   options.max_boxes);
  }
  if (!options.range) return;
  const BevRange& range = *options.range;
  if (range.x_min < range.x_max && range.y_min < range.y_max) return;
  throw error_of(ErrorCode::invalid_argument,
                 "BevRange is x {:g} to {:g}, y {:g} to {:g}; expected min < max", range.x_min,
                 range.x_max, range.y_min, range.y_max);
}

}  // namespace ffkit::nuscenes
