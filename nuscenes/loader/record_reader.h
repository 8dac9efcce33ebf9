// Reading what is stored in nuScenes records: poses and other numbers of sensors, and boxes. Pure
// functions, and what never changes: thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/loading.h>

namespace ffkit::nuscenes {

// N numbers of a tensor field; throws Error(corrupt) when there are others.
template <size_t N>
std::array<double, N> read_numbers(const FieldView& field) {
  const TensorView tensor = field.tensor();
  std::array<double, N> numbers{};
  if (tensor.dtype != DType::f64 || tensor.data.size() != sizeof(numbers)) {
    throw Error(ErrorCode::corrupt, "a pose or matrix has a wrong type or shape");
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

  // For FieldDecoder::inputs().
  void add_to(std::vector<size_t>& inputs) const {
    inputs.insert(inputs.end(), {sensor_to_ego, ego_to_global, timestamp});
  }
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

  // The fields boxes/class, boxes/valid and boxes/lidar of one record. Throws Error(corrupt) unless
  // they are of the same boxes.
  StoredBoxes(const FieldView& classes, const FieldView& valid, const FieldView& boxes);

  int64_t size() const { return count_; }
  int64_t class_number(int64_t i) const;
  Numbers numbers(int64_t i) const;  // as they are stored
  // Whether it is a box, has_extent(); else it counts nowhere.
  bool is_box(int64_t i) const;
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

// The decoders behind keyframe_fields().

// Adds pictures, intrinsics and the matrices from the lidar to the cameras.
void add_camera_fields(const Schema& schema, const KeyframeOptions& options,
                       std::vector<BatchField>& fields);
std::shared_ptr<const FieldDecoder> decode_lidar_to_global(const Schema& schema,
                                                           const BevAugmentation& bev);
// Points of `channels`, `columns` numbers and the time lag each, in the frame of the keyframe's
// lidar. `points` is the lidar's or the radars' of `options`.
std::shared_ptr<const FieldDecoder> decode_points(const Split& split,
                                                  const std::vector<std::string>& channels,
                                                  int64_t columns, const PointOptions& points,
                                                  const KeyframeOptions& options);
// [18] f64 by options.can_bus, which is not none. Throws Error(not_found) for a set without CAN bus
// poses.
std::shared_ptr<const FieldDecoder> decode_can_bus(const Dataset& keyframes, CanBusRule rule);
// [18] f64, KeyframeOptions::motion. A set without CAN bus poses gives zeros for what comes from
// them.
std::shared_ptr<const FieldDecoder> decode_motion(const Dataset& keyframes, CanBusRule rule);
// Adds sample_token, scene_token and frame_index. `keyframes` is the whole split.
void add_identity_fields(const Dataset& keyframes, std::vector<BatchField>& fields);
// Adds boxes and box_classes.
void add_box_fields(const Schema& schema, const BoxOptions& options, const BevAugmentation& bev,
                    std::vector<BatchField>& fields);

// SweepAnnouncer: tells the kernel which sweeps a keyframe will need, so that they come from a cold
// disk while others are decoded. A hint: where it is wrong, reading only takes longer. Immutable,
// so thread-safe.
class SweepAnnouncer {
 public:
  // Of the `num_previous` frames before a keyframe on each channel.
  SweepAnnouncer(const Dataset& keyframes, const Dataset& sweeps,
                 const std::vector<std::string>& channels, int64_t num_previous);

  void announce(int64_t keyframe) const noexcept;

  // Records begin .. end-1 of the sweeps.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  // What is announced of the channel that was number `channel` of those given.
  const Range& range(int64_t keyframe, size_t channel) const {
    return ranges_.at(static_cast<size_t>(keyframe) * num_channels_ + channel);
  }

 private:
  void announce(const Range& range) const;

  const Dataset sweeps_;
  size_t num_channels_;
  std::vector<Range> ranges_;  // by keyframe, then channel
};

}  // namespace ffkit::nuscenes
