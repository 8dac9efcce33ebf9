#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <ffkit/format/error.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

#include "field_decoders.h"
#include "record_reader.h"
#include "sweep_announcer.h"

namespace ffkit::nuscenes {
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

class PointDecoder final : public RowsDecoder {
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
  };

  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override { return {columns_ + 1}; }
  int64_t max_rows() const override { return options_.max_points; }
  RowLayout layout() const override { return options_.layout; }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Memory>(); }
  void will_read(int64_t record_index) const noexcept override {
    if (announcer_ != nullptr) announcer_->announce(record_index);
  }

  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* scratch,
                      void* out) const override {
    const Target target{.lidar = read_state(record, lidar_),
                        .bev = draw(bev_, key).matrix(),
                        .out = static_cast<float*>(out)};
    check_split(record);
    int64_t num_rows = 0;
    for (const PointChannel& channel : channels_) {
      if (!allow_missing_ || !record.is_null(channel.points)) {
        append(record.tensor(channel.points), read_state(record, channel.sensor), target, num_rows);
      }
      for (const FrameReference& frame : previous_frames(record, channel)) {
        if (frame.is_sweep != 0) {
          append_sweep_record(frame.number, target, static_cast<Memory&>(*scratch), num_rows);
        } else {
          append_keyframe(frame.number, channel, target, static_cast<Memory&>(*scratch), num_rows);
        }
      }
    }
    return num_rows;
  }

 private:
  struct Target {
    SensorState lidar;
    Transform bev;
    float* out;
  };

  void append(const TensorView& points, const SensorState& state, const Target& target,
              int64_t& num_rows) const {
    const SweepPlacement placement{.to_target = target.bev * between(state, target.lidar),
                                   .time_lag = time_lag(target.lidar.timestamp, state.timestamp),
                                   .min_distance = options_.min_distance,
                                   .radar_filter = radar_filter_};
    const int64_t room = options_.max_points - num_rows;
    const int64_t num_new =
        append_sweep(points, placement, columns_, room, target.out + num_rows * (columns_ + 1));
    if (has_default_room_ && num_new == room) require_room(points, placement, room);
    num_rows += num_new;
  }

  // Points are left out only where somebody asked for it.
  void require_room(const TensorView& points, const SweepPlacement& placement, int64_t room) const {
    if (points.shape[0] <= room) return;
    std::vector<float> all(static_cast<size_t>(points.shape[0] * (columns_ + 1)));
    if (append_sweep(points, placement, columns_, points.shape[0], all.data()) <= room) return;
    throw Error(
        ErrorCode::unsupported,
        fmt::format("a keyframe and the sweeps before it have more than {} points, which is "
                    "more than nuScenes' sensors give; set PointOptions::max_points",
                    options_.max_points));
  }

  // The numbers of sweeps in a keyframe of another split would lead to other clouds.
  void check_split(const RecordView& record) const {
    if (times_.empty()) return;
    const auto time = record.scalar<int64_t>(timestamp_);
    if (std::binary_search(times_.begin(), times_.end(), time)) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the keyframe of {} us is none of the split '{}' that its fields were "
                            "made for; give keyframe_fields() the split that the Loader reads",
                            time, split_.keyframes.manifest().split),
                {.path = split_.keyframes.path().string()});
  }

  std::vector<FrameReference> previous_frames(const RecordView& record,
                                              const PointChannel& channel) const {
    if (options_.num_sweeps == 1) return {};
    const TensorView stored = record.tensor(channel.sweeps);
    if (stored.dtype != DType::i64 || stored.shape.size() != 2 || stored.shape[1] != 2) {
      throw Error(ErrorCode::corrupt, "a list of sweeps is not i64 [m, 2]");
    }
    const auto count = std::min<int64_t>(stored.shape[0], options_.num_sweeps - 1);
    std::vector<FrameReference> frames(static_cast<size_t>(count));
    if (count > 0) {
      std::memcpy(frames.data(), stored.data.data(), frames.size() * sizeof(FrameReference));
    }
    return frames;
  }

  void append_sweep_record(int64_t number, const Target& target, Memory& memory,
                           int64_t& num_rows) const {
    if (!split_.sweeps) {
      // No bad sample: nearly every keyframe has sweeps, and only the first ones of scenes would be left.
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("sweep {} is needed, but there is no split '{}'", number,
                              sweeps_split(split_.keyframes.manifest().split)));
    }
    const Dataset::Location at = split_.sweeps->locate(number);
    const RecordView sweep(
        split_.sweeps->schema(),
        split_.sweeps->shard(at.shard_index).read(at.local_index, memory.record, memory.unpacker),
        split_.sweeps->name(number));
    if (sweep.is_null(sweep_points_)) return;  // a file that the source lacked
    append(sweep.tensor(sweep_points_), read_state(sweep, *sweep_sensor_), target, num_rows);
  }

  // Reads only what it needs of the keyframe: its images are most of it.
  void append_keyframe(int64_t number, const PointChannel& channel, const Target& target,
                       Memory& memory, int64_t& num_rows) const {
    const Dataset& keyframes = split_.keyframes;
    const auto read = [&](size_t field, std::vector<std::byte>& bytes) {
      const bool has_value = keyframes.read_field(number, field, bytes);
      return FieldView(keyframes.schema().fields[field], bytes, !has_value, keyframes.name(number));
    };
    const FieldView points = read(channel.points, memory.points);
    if (points.is_null()) return;
    SensorState state;
    state.sensor_to_ego = read_pose(read(channel.sensor.sensor_to_ego, memory.number));
    state.ego_to_global = read_pose(read(channel.sensor.ego_to_global, memory.number));
    state.timestamp = read(channel.sensor.timestamp, memory.number).scalar<int64_t>();
    append(points.tensor(), state, target, num_rows);
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
    throw Error(ErrorCode::invalid_argument,
                fmt::format("num_sweeps is {}, must be 1 .. {}", options.num_sweeps, kMaxSweeps));
  }
  if (options.max_points < 0 || !(options.min_distance >= 0)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("max_points is {} and min_distance {}; neither must be negative",
                            options.max_points, options.min_distance));
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
