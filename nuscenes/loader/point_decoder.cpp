#include <fmt/format.h>

#include <cstring>

#include <ffkit/format/error.h>
#include <ffkit/format/record_unpacker.h>
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
               const PointOptions& options, const BevAugmentation& bev)
      : split_(split),
        columns_(columns),
        options_(options),
        bev_(bev),
        lidar_(split.keyframes.schema(), std::string(kLidar)) {
    const bool has_sweeps = options.num_sweeps > 1;
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
    int64_t num_rows = 0;
    for (const PointChannel& channel : channels_) {
      append(record.tensor(channel.points), read_state(record, channel.sensor), target, num_rows);
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
                                   .min_distance = options_.min_distance};
    num_rows += append_sweep(points, placement, columns_, options_.max_points - num_rows,
                             target.out + num_rows * (columns_ + 1));
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
      throw Error(ErrorCode::not_found,
                  fmt::format("sweep {} is needed, but there is no split '{}'", number,
                              sweeps_split(split_.keyframes.manifest().split)));
    }
    const Dataset::Location at = split_.sweeps->locate(number);
    const RecordView sweep(
        split_.sweeps->schema(),
        split_.sweeps->shard(at.shard_index).read(at.local_index, memory.record, memory.unpacker));
    if (sweep.is_null(sweep_points_)) return;  // a file that the source lacked
    append(sweep.tensor(sweep_points_), read_state(sweep, *sweep_sensor_), target, num_rows);
  }

  // Reads only what it needs of the keyframe: its images are most of it.
  void append_keyframe(int64_t number, const PointChannel& channel, const Target& target,
                       Memory& memory, int64_t& num_rows) const {
    const Dataset& keyframes = split_.keyframes;
    const auto read = [&](size_t field, std::vector<std::byte>& bytes) {
      const bool has_value = keyframes.read_field(number, field, bytes);
      return FieldView(keyframes.schema().fields[field], bytes, !has_value);
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
  const BevAugmentation bev_;
  const SensorFields lidar_;
  std::vector<PointChannel> channels_;
  std::optional<SensorFields> sweep_sensor_;
  size_t sweep_points_ = 0;
  std::unique_ptr<SweepAnnouncer> announcer_;
};

}  // namespace

std::shared_ptr<const FieldDecoder> decode_points(const Split& split,
                                                  const std::vector<std::string>& channels,
                                                  int64_t columns, const PointOptions& options,
                                                  const BevAugmentation& bev) {
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
  return std::make_shared<PointDecoder>(split, channels, columns, complete, bev);
}

}  // namespace ffkit::nuscenes
