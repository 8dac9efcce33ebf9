#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

#include "base/make_error.h"
#include "record_reader.h"

namespace ffkit::nuscenes {

SweepAnnouncer::SweepAnnouncer(const Dataset& keyframes, const Dataset& sweeps,
                               const std::vector<std::string>& channels, int64_t num_previous)
    : sweeps_(sweeps), num_channels_(channels.size()) {
  // Sweeps lie by scene, channel and time, so those before a keyframe are neighbours.
  const auto scenes = sweeps.string_column(sweep::kScene);
  const auto of_channels = sweeps.string_column(sweep::kChannel);
  const auto times = sweeps.int_column(sweep::kTimestamp);
  std::map<std::pair<std::string, std::string>, Range> stretches;
  for (size_t i = 0; i < times.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    const auto added = stretches.try_emplace({scenes[i], of_channels[i]}, Range{number, number});
    added.first->second.end = number + 1;
  }
  const auto key_scenes = keyframes.string_column(keyframe::kScene);
  const auto key_times = keyframes.int_column(keyframe::kTimestamp);
  for (size_t i = 0; i < key_times.size(); ++i) {
    for (const std::string& name : channels) {
      Range& range = ranges_.emplace_back();
      const auto stretch = stretches.find({key_scenes[i], name});
      if (stretch == stretches.end()) continue;
      const auto first = times.begin() + stretch->second.begin;
      const auto last = times.begin() + stretch->second.end;
      range.end = std::lower_bound(first, last, key_times[i]) - times.begin();
      range.begin = std::max(stretch->second.begin, range.end - num_previous);
    }
  }
}

void SweepAnnouncer::announce(int64_t keyframe) const noexcept {
  try {
    for (size_t c = 0; c < num_channels_; ++c) announce(range(keyframe, c));
  } catch (const std::exception&) {
    // What is wrong with the sweeps is said where they are read.
  }
}

void SweepAnnouncer::announce(const Range& range) const {
  for (int64_t begin = range.begin; begin < range.end;) {
    const Dataset::Location first = sweeps_.locate(begin);
    int64_t bytes_end = first.record.offset + first.record.stored_bytes;
    for (++begin; begin < range.end; ++begin) {
      const Dataset::Location next = sweeps_.locate(begin);
      if (next.shard_index != first.shard_index) break;
      bytes_end = std::max(bytes_end, next.record.offset + next.record.stored_bytes);
    }
    sweeps_.shard(first.shard_index).announce(first.record.offset, bytes_end - first.record.offset);
  }
}

namespace {

// Fields of a channel in keyframes.
struct PointChannel {
  PointChannel(const Schema& schema, const std::string& name, bool has_sweeps)
      : sensor(schema, name), points(schema.require(channel_field(name, channel::kPoints))) {
    if (has_sweeps) sweeps = schema.require(channel_field(name, channel::kSweeps));
  }
  SensorFields sensor;
  size_t points;
  size_t sweeps = 0;
};

// {0, record of the keyframes} or {1, record of the sweeps}
struct FrameReference {
  int64_t is_sweep;
  int64_t number;
};

// A part is one frame of one channel: the keyframe's own, then the ones before it, the newest
// first; then those of the next channel.
class PointDecoder final : public RowPartsDecoder {
 public:
  PointDecoder(const Split& split, const std::vector<std::string>& channels, int64_t columns,
               const PointOptions& options, bool has_default_room, const KeyframeOptions& keyframes)
      : split_(split),
        columns_(columns),
        options_(options),
        has_default_room_(has_default_room),
        allow_missing_(keyframes.allow_missing),
        radar_filter_(keyframes.radar_filter),
        bev_(keyframes.bev),
        lidar_(split.keyframes.schema(), std::string(kLidar)) {
    const bool has_sweeps = options.num_sweeps > 1;
    if (has_sweeps) {
      timestamp_ = split.keyframes.schema().require(keyframe::kTimestamp);
      times_ = split.keyframes.int_column(keyframe::kTimestamp);
      std::sort(times_.begin(), times_.end());
    }
    for (const std::string& name : channels) {
      channels_.emplace_back(split.keyframes.schema(), name, has_sweeps);
    }
    if (!has_sweeps || !split.sweeps) return;
    sweep_sensor_.emplace(split.sweeps->schema(), "");
    sweep_points_ = split.sweeps->schema().require(columns == kLidarColumns ? channel::kPoints
                                                                            : sweep::kRadarPoints);
    announcer_ = std::make_unique<SweepAnnouncer>(split.keyframes, *split.sweeps, channels,
                                                  options.num_sweeps - 1);
  }

  struct Memory final : Scratch {
    std::vector<std::byte> record;  // as stored
    RecordUnpacker unpacker;
    std::vector<std::byte> points;  // fields of another keyframe
    std::vector<std::byte> number;
    // Of the part that was begun, in the record or in what stands above.
    std::optional<TensorView> cloud;  // nothing: the part has no points
    SweepPlacement placement;
  };

  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override { return {columns_ + 1}; }
  int64_t max_rows() const override { return options_.max_points; }
  RowLayout layout() const override { return options_.layout; }
  std::optional<std::vector<size_t>> inputs() const override {
    std::vector<size_t> fields;
    lidar_.add_to(fields);
    const bool has_sweeps = options_.num_sweeps > 1;
    if (has_sweeps) fields.push_back(timestamp_);
    for (const PointChannel& channel : channels_) {
      channel.sensor.add_to(fields);
      fields.push_back(channel.points);
      if (has_sweeps) fields.push_back(channel.sweeps);
    }
    return fields;
  }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Memory>(); }
  void will_read(int64_t record_index) const noexcept override {
    if (announcer_ != nullptr) announcer_->announce(record_index);
  }

  int64_t num_parts() const override { return std::ssize(channels_) * options_.num_sweeps; }

  void begin_part(const RecordView& record, const SampleKey& key, int64_t part,
                  Scratch* scratch) const override {
    auto& memory = static_cast<Memory&>(*scratch);
    memory.cloud.reset();
    check_split(record);
    const PointChannel& channel = channels_[part / options_.num_sweeps];
    const int64_t frame = part % options_.num_sweeps;
    SensorState state;
    if (frame == 0) {
      if (allow_missing_ && record.is_null(channel.points)) return;
      memory.cloud = record.tensor(channel.points);
      state = read_state(record, channel.sensor);
    } else {
      const auto reference = previous_frame(record, channel, frame - 1);
      if (!reference) return;
      state = reference->is_sweep != 0 ? read_sweep_record(reference->number, memory)
                                       : read_keyframe(reference->number, channel, memory);
    }
    if (!memory.cloud) return;
    const SensorState lidar = read_state(record, lidar_);
    memory.placement = {.to_target = draw(bev_, key).matrix() * between(state, lidar),
                        .time_lag = time_lag(lidar.timestamp, state.timestamp),
                        .min_distance = options_.min_distance,
                        .radar_filter = radar_filter_};
  }

  int64_t count_rows(const RecordView&, const SampleKey&, int64_t,
                     Scratch* scratch) const override {
    const auto& memory = static_cast<Memory&>(*scratch);
    return memory.cloud ? count_sweep(*memory.cloud, memory.placement, columns_) : 0;
  }

  int64_t write_rows(const RecordView&, const SampleKey&, int64_t, Scratch* scratch, int64_t room,
                     void* out) const override {
    const auto& memory = static_cast<Memory&>(*scratch);
    if (!memory.cloud) return 0;
    const int64_t num_rows =
        append_sweep(*memory.cloud, memory.placement, columns_, room, static_cast<float*>(out));
    if (has_default_room_ && num_rows == room) require_room(*memory.cloud, memory.placement, room);
    return num_rows;
  }

 private:
  // Points are left out only where somebody asked for it.
  void require_room(const TensorView& points, const SweepPlacement& placement, int64_t room) const {
    if (points.shape[0] <= room || count_sweep(points, placement, columns_) <= room) return;
    throw error_of(ErrorCode::unsupported,
                   "a keyframe and the sweeps before it have more than {} points, which is more "
                   "than the sensors of nuScenes give; set a larger max_points in the PointOptions",
                   options_.max_points);
  }

  // The numbers of sweeps in a keyframe of another split would lead to other clouds.
  void check_split(const RecordView& record) const {
    if (times_.empty()) return;
    const auto time = record.scalar<int64_t>(timestamp_);
    if (std::binary_search(times_.begin(), times_.end(), time)) return;
    throw error_at(split_.keyframes.path(), ErrorCode::invalid_argument,
                   "the keyframe with the timestamp {} us is not in the split '{}', which "
                   "keyframe_fields() got; give keyframe_fields() the split that the Loader reads",
                   time, split_.keyframes.manifest().split);
  }

  // The frame `index` before the keyframe, where there is one.
  static std::optional<FrameReference> previous_frame(const RecordView& record,
                                                      const PointChannel& channel, int64_t index) {
    const TensorView stored = record.tensor(channel.sweeps);
    if (stored.dtype != DType::i64 || stored.shape.size() != 2 || stored.shape[1] != 2) {
      throw Error(ErrorCode::corrupt, "a list of sweeps is not i64 of shape [m, 2]");
    }
    if (index >= stored.shape[0]) return std::nullopt;
    FrameReference frame{};
    std::memcpy(&frame, stored.data.data() + static_cast<size_t>(index) * sizeof(frame),
                sizeof(frame));
    return frame;
  }

  SensorState read_sweep_record(int64_t number, Memory& memory) const {
    if (!split_.sweeps) {
      // No bad sample: nearly every keyframe has sweeps, and only the first ones of scenes would be
      // left.
      throw error_of(ErrorCode::invalid_argument,
                     "the sample needs sweep {}, but the data set has no split '{}' with sweeps",
                     number, sweeps_split(split_.keyframes.manifest().split));
    }
    const auto read = [&] {
      CountedRead counted(memory);
      const Dataset::Location at = split_.sweeps->locate(number);
      counted.add_bytes(static_cast<size_t>(at.record.stored_bytes));
      return split_.sweeps->shard(at.shard_index)
          .read(at.local_index, memory.record, memory.unpacker);
    };
    const RecordView sweep(split_.sweeps->schema(), read(), split_.sweeps->name(number));
    if (sweep.is_null(sweep_points_)) return {};  // a file that the source lacked
    memory.cloud = sweep.tensor(sweep_points_);
    return read_state(sweep, *sweep_sensor_);
  }

  // Reads only what it needs of the keyframe: its pictures are most of it.
  SensorState read_keyframe(int64_t number, const PointChannel& channel, Memory& memory) const {
    CountedRead counted(memory);
    const Dataset& keyframes = split_.keyframes;
    const auto read = [&](size_t field, std::vector<std::byte>& bytes) {
      const bool has_value = keyframes.read_field(number, field, bytes);
      counted.add_bytes(bytes.size());
      return FieldView(keyframes.schema().fields[field], bytes, !has_value, keyframes.name(number));
    };
    const FieldView points = read(channel.points, memory.points);
    if (points.is_null()) return {};
    memory.cloud = points.tensor();
    SensorState state;
    state.sensor_to_ego = read_pose(read(channel.sensor.sensor_to_ego, memory.number));
    state.ego_to_global = read_pose(read(channel.sensor.ego_to_global, memory.number));
    state.timestamp = read(channel.sensor.timestamp, memory.number).scalar<int64_t>();
    return state;
  }

  const Split split_;
  const int64_t columns_;
  const PointOptions options_;
  const bool has_default_room_;
  const bool allow_missing_;
  const RadarFilter radar_filter_;
  const BevAugmentation bev_;
  const SensorFields lidar_;
  std::vector<PointChannel> channels_;
  size_t timestamp_ = 0;
  std::vector<int64_t> times_;  // of all keyframes, ascending; only where keyframes refer to sweeps
  std::optional<SensorFields> sweep_sensor_;
  size_t sweep_points_ = 0;
  std::unique_ptr<SweepAnnouncer> announcer_;
};

}  // namespace

std::shared_ptr<const FieldDecoder> decode_points(const Split& split,
                                                  const std::vector<std::string>& channels,
                                                  int64_t columns, const PointOptions& options,
                                                  const KeyframeOptions& keyframes) {
  constexpr int kMaxSweeps = 100;
  constexpr int64_t kLidarPoints = 35000;
  constexpr int64_t kRadarPoints = 125;
  if (options.num_sweeps < 1 || options.num_sweeps > kMaxSweeps) {
    throw error_of(ErrorCode::invalid_argument, "num_sweeps is {}; expected 1 to {}",
                   options.num_sweeps, kMaxSweeps);
  }
  if (options.max_points < 0 || !(options.min_distance >= 0)) {
    throw error_of(ErrorCode::invalid_argument,
                   "max_points is {} and min_distance is {}; expected 0 or more for both",
                   options.max_points, options.min_distance);
  }
  PointOptions complete = options;
  if (options.max_points == 0) {
    const int64_t of_sweep = columns == kLidarColumns ? kLidarPoints : kRadarPoints;
    complete.max_points = of_sweep * options.num_sweeps * std::ssize(channels);
  }
  return std::make_shared<PointDecoder>(split, channels, columns, complete, options.max_points == 0,
                                        keyframes);
}

}  // namespace ffkit::nuscenes
