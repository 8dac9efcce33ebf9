#include "nuscenes/record_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>

#include <ffkit/base/option_names.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/geometry.h>

#include "base/make_error.h"
#include "converter/input/input_file.h"
#include "converter/input/sample_arrays.h"
#include "nuscenes/points.h"
#include "pictures/image_sample.h"

namespace ffkit::nuscenes {
namespace {

// The boxes of a keyframe as its record has them. Pure functions of the tables; thread-safe.

Box box_of(const std::array<double, 10>& numbers) {
  return {.center = {numbers[0], numbers[1], numbers[2]},
          .size = {numbers[3], numbers[4], numbers[5]},
          .rotation = {numbers[6], numbers[7], numbers[8], numbers[9]}};
}

void set_texts(RecordBuilder& record, size_t field, const std::vector<std::string>& texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  record.set_list(field, std::span(views));
}

// m/s along the global axes: the devkit's NuScenes.box_velocity(), operation by operation, so that
// the numbers are its. The difference between the annotations before and after, or between this one
// and the one that there is; NaN without either, and when they lie more than 3 s (1.5 s) apart.
Vector3 box_velocity(const Tables& tables, Row annotation) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const AnnotationRows& all = tables.annotations;
  const bool has_prev = all.prev[annotation] != kNoRow;
  const bool has_next = all.next[annotation] != kNoRow;
  if (!has_prev && !has_next) return {kNan, kNan, kNan};
  const Row first = has_prev ? all.prev[annotation] : annotation;
  const Row last = has_next ? all.next[annotation] : annotation;
  const auto seconds = [&](Row row) {
    return 1e-6 * static_cast<double>(tables.samples.timestamp[all.sample[row]]);
  };
  const double max_time_diff = has_prev && has_next ? 2 * 1.5 : 1.5;
  const double time_diff = seconds(last) - seconds(first);
  // The devkit divides by 0 where the table has two annotations of one time.
  if (time_diff > max_time_diff) return {kNan, kNan, kNan};
  Vector3 velocity;
  for (size_t i = 0; i < 3; ++i) velocity[i] = (all.box[last][i] - all.box[first][i]) / time_diff;
  return velocity;
}

// Sets the fields boxes/* of `record`, in this order, from position `first_field` on;
// `lidar_calibration` and `lidar_pose` are of the keyframe's LIDAR_TOP. The values live in
// `buffers`.
void set_boxes(const Tables& tables, Row sample, const PoseNumbers& lidar_calibration,
               const PoseNumbers& lidar_pose, RecordBuilder& record, size_t first_field,
               SampleBuffers& buffers) {
  const AnnotationRows& all = tables.annotations;
  std::vector<Row> rows;
  for (Row i = all.first[sample]; i < all.first[sample + 1]; ++i) {
    const Row row = all.order[i];
    if (has_extent(box_of(all.box[row]))) {
      rows.push_back(row);
      continue;
    }
    buffers.leave_out(
        fmt::format("annotation {} has no size, place or direction: its box is ({:g})",
                    to_string(all.token[row]), fmt::join(all.box[row], ", ")));
  }
  const size_t n = rows.size();
  const auto length = static_cast<int64_t>(n);
  const Pose sensor_to_ego = make_pose(lidar_calibration);
  const Pose ego_to_global = make_pose(lidar_pose);
  std::vector<std::string> tokens;
  std::vector<std::string> instances;
  std::vector<std::string> categories;
  const auto global = new_array<double>(buffers, n * 10);
  const auto velocities = new_array<double>(buffers, n * 3);
  const auto lidar = new_array<float>(buffers, n * 9);
  const auto valid = new_array<uint8_t>(buffers, n);
  std::array<std::span<int64_t>, 5> integers;  // class, then the four counts and names
  for (auto& array : integers) array = new_array<int64_t>(buffers, n);
  for (size_t i = 0; i < n; ++i) {
    const Row row = rows[i];
    tokens.push_back(to_string(all.token[row]));
    instances.push_back(to_string(all.instance[row]));
    categories.push_back(tables.categories[all.category[row]]);
    std::ranges::copy(all.box[row], &global[10 * i]);
    const Vector3 velocity = box_velocity(tables, row);
    std::ranges::copy(velocity, &velocities[3 * i]);
    Box box = box_of(all.box[row]);
    box.velocity = {velocity[0], velocity[1], 0};  // as mmdetection3d turns it
    box = move_back(move_back(box, ego_to_global), sensor_to_ego);
    std::ranges::transform(lidar_box_numbers(box), &lidar[9 * i],
                           [](double x) { return static_cast<float>(x); });
    valid[i] = all.num_lidar_points[row] + all.num_radar_points[row] > 0 ? 1 : 0;
    integers[0][i] = class_of_category(categories.back());
    integers[1][i] = all.num_lidar_points[row];
    integers[2][i] = all.num_radar_points[row];
    integers[3][i] = all.visibility[row];
    integers[4][i] = all.attribute[row];
  }
  size_t field = first_field;
  set_texts(record, field++, tokens);
  set_texts(record, field++, instances);
  set_texts(record, field++, categories);
  set_array<double>(record, field++, global, {length, 10});
  set_array<double>(record, field++, velocities, {length, 3});
  set_array<float>(record, field++, lidar, {length, 9});
  set_array<int64_t>(record, field++, integers[0], {length});
  set_array<uint8_t>(record, field++, valid, {length});
  for (size_t i = 1; i < integers.size(); ++i) {
    set_array<int64_t>(record, field++, integers[i], {length});
  }
}

// Whether another file than this one would do. Not what the disk says, and not what an option asks
// for too much of.
bool is_damage(const Error& error, bool is_picture) {
  return error.code() == ErrorCode::corrupt ||
         (is_picture && error.code() == ErrorCode::unsupported);
}

}  // namespace

RecordReader::RecordReader(const Tables& tables, const Listing& listing, const CanBus& can_bus,
                           std::filesystem::path root, const KeyframeFields& fields,
                           const ImageStorer& storer, const RadarFilter& radar_filter)
    : t_(tables),
      listing_(listing),
      can_bus_(can_bus),
      root_(std::move(root)),
      storer_(storer),
      lidar_dtype_(fields.lidar_dtype),
      radar_filter_(radar_filter),
      keyframe_schema_(nuscenes::keyframe_schema(fields)),
      sweep_schema_(nuscenes::sweep_schema(fields.lidar_dtype)),
      map_schema_(nuscenes::map_schema()) {
  const auto position = [this](uint8_t channel, const char* name) {
    return keyframe_schema_.index_of(channel_field(channel_name(channel), name));
  };
  for (uint8_t channel = 0; channel < kNumChannels; ++channel) {
    const int pose = position(channel, channel::kSensorToEgo);
    if (pose < 0) continue;
    taken_.push_back(channel);
    const char* data = is_camera(channel) ? channel::kImage : channel::kPoints;
    channels_[channel] = {
        .data = static_cast<size_t>(position(channel, data)),
        .intrinsics = static_cast<size_t>(std::max(position(channel, channel::kIntrinsics), 0)),
        .sensor_to_ego = static_cast<size_t>(pose),
        .sweeps = static_cast<size_t>(std::max(position(channel, channel::kSweeps), 0))};
  }
  first_box_field_ = keyframe_schema_.require(keyframe::kBoxToken);
  first_can_bus_field_ = keyframe_schema_.fields.size() - fields.can_bus.size();
}

std::span<const std::byte> RecordReader::read_file(std::string_view name, SampleBuffers& buffers,
                                                   Row row) const {
  const InputFile file = row == kNoRow
                             ? InputFile(root_ / name)
                             : InputFile(root_ / name, {.num_bytes = listing_.file_bytes(row),
                                                        .modified_ns = listing_.modified_ns(row)});
  require_image_size(file.size(), file.path().string());
  const std::span<std::byte> bytes = buffers.bytes(static_cast<size_t>(file.size()));
  file.read_at(0, bytes);
  return bytes;
}

template <typename Take>
bool RecordReader::take_file(std::string_view name, SampleBuffers& buffers, const Take& take,
                             Row row) const {
  const std::filesystem::path path = root_ / name;
  try {
    take(read_file(name, buffers, row));
    return true;
  } catch (const Error& thrown) {
    if (is_out_of_memory(thrown)) throw;
    const Error error = thrown.within({.path = path.string()});
    if (!is_damage(error, path.extension() == ".jpg")) throw error;
    if (!listing_.allows_partial()) {
      std::string_view reason = error.message();
      for (const std::string_view advice :
           {"; unpack it again", "; copy it again", "; get the file again"}) {
        if (reason.ends_with(advice)) reason.remove_suffix(advice.size());
      }
      throw error.with_message(
          fmt::format("{}; unpack the file again, or leave its field empty with {}", reason,
                      option_on("allow_partial")));
    }
    buffers.report({error.what(), "left empty"});
    return false;
  }
}

void RecordReader::set_image(Row row, size_t image_field, size_t intrinsics_field,
                             RecordBuilder& record, SampleBuffers& buffers) const {
  const std::string_view name = t_.sample_data.filename[row];
  std::array<double, 9> intrinsics = t_.calibrations.intrinsics[t_.sample_data.calibration[row]];
  if (listing_.file_bytes(row) > 0) {
    take_file(
        name, buffers,
        [&](std::span<const std::byte> file) {
          const ImageStorer::Stored stored = storer_.store(file, name, buffers, name);
          record.set_bytes(image_field, stored.bytes);
          if (stored.size == stored.original) return;
          for (size_t i = 0; i < 3; ++i)
            intrinsics[i] *= double(stored.size.width) / stored.original.width;
          for (size_t i = 3; i < 6; ++i)
            intrinsics[i] *= double(stored.size.height) / stored.original.height;
        },
        row);
  }
  set_copy<double>(record, intrinsics_field, intrinsics, {3, 3}, buffers);
}

size_t RecordReader::set_data(Row row, size_t data_field, size_t intrinsics_field,
                              RecordBuilder& record, SampleBuffers& buffers) const {
  const uint8_t channel = t_.sample_data.channel[row];
  if (is_camera(channel)) {
    set_image(row, data_field, intrinsics_field, record, buffers);
    return 0;
  }
  if (listing_.file_bytes(row) <= 0) return 0;
  size_t num_bytes = 0;
  take_file(
      t_.sample_data.filename[row], buffers,
      [&](std::span<const std::byte> file) {
        if (channel == kLidarChannel) {
          set_lidar_points(file, lidar_dtype_, record, data_field, buffers);
          num_bytes = file.size();
        } else {
          set_radar_points(file, record, data_field, buffers, radar_filter_);
        }
      },
      row);
  return num_bytes / (kLidarColumns * sizeof(float));
}

void RecordReader::set_poses(Row row, size_t first_field, RecordBuilder& record) const {
  const PoseNumbers& calibration = t_.calibrations.pose[t_.sample_data.calibration[row]];
  const PoseNumbers& ego = t_.ego_poses.pose[t_.sample_data.ego_pose[row]];
  set_array<double>(record, first_field, calibration, {7});
  set_array<double>(record, first_field + 1, ego, {7});
}

void RecordReader::set_channel(Row sample, uint8_t channel, RecordBuilder& record,
                               SampleBuffers& buffers) const {
  const Row row = listing_.key_frame(sample, channel);
  const ChannelFields& fields = channels_[channel];
  const size_t num_points = set_data(row, fields.data, fields.intrinsics, record, buffers);
  if (channel == kLidarChannel) set_labels(sample, num_points, record, buffers);
  set_poses(row, fields.sensor_to_ego, record);
  size_t field = fields.sensor_to_ego + 2;
  record.set_scalar<int64_t>(field++, t_.sample_data.timestamp[row]);
  record.set_string(field++, buffers.text(to_string(t_.sample_data.token[row])));
  record.set_string(field, t_.sample_data.filename[row]);
  if (fields.sweeps == 0) return;
  const std::vector<FrameReference> sweeps = listing_.sweeps(sample, channel);
  const auto numbers = new_array<int64_t>(buffers, 2 * sweeps.size());
  for (size_t i = 0; i < sweeps.size(); ++i) std::ranges::copy(sweeps[i], &numbers[2 * i]);
  set_array<int64_t>(record, fields.sweeps, numbers, {std::ssize(sweeps), 2});
}

// The fields behind the points.
void RecordReader::set_labels(Row sample, size_t num_points, RecordBuilder& record,
                              SampleBuffers& buffers) const {
  if (num_points == 0) return;
  const size_t field = channels_[kLidarChannel].data + 1;
  if (const std::string_view name = listing_.labels(t_.lidarseg, sample); !name.empty()) {
    take_file(name, buffers, [&](std::span<const std::byte> file) {
      set_lidarseg(file, num_points, record, field);
    });
  }
  if (const std::string_view name = listing_.labels(t_.panoptic, sample); !name.empty()) {
    take_file(name, buffers, [&](std::span<const std::byte> file) {
      set_panoptic(file, num_points, record, field + 1, buffers);
    });
  }
}

void RecordReader::read_keyframe(const SplitListing& split, int64_t index, RecordBuilder& record,
                                 SampleBuffers& buffers) const {
  const Row sample = split.keyframes.at(static_cast<size_t>(index));
  const Row scene = t_.samples.scene[sample];
  const Row log = t_.scenes.log[scene];
  size_t field = 0;  // in the schema's order
  record.set_string(field++, buffers.text(to_string(t_.samples.token[sample])));
  record.set_string(field++, t_.scenes.name[scene]);
  record.set_string(field++, buffers.text(to_string(t_.scenes.token[scene])));
  record.set_scalar<int64_t>(field++, t_.samples.timestamp[sample]);
  record.set_scalar<int64_t>(field++, listing_.number_of(t_.samples.prev[sample]));
  record.set_scalar<int64_t>(field++, listing_.number_of(t_.samples.next[sample]));
  record.set_string(field++, t_.logs.location[log]);
  record.set_string(field++, t_.logs.vehicle[log]);
  record.set_string(field++, t_.logs.logfile[log]);
  record.set_scalar<int64_t>(field, Listing::map_number(split, t_.maps.of_log[log]));
  for (const uint8_t channel : taken_) set_channel(sample, channel, record, buffers);
  const Row lidar = listing_.key_frame(sample, kLidarChannel);
  set_boxes(t_, sample, t_.calibrations.pose[t_.sample_data.calibration[lidar]],
            t_.ego_poses.pose[t_.sample_data.ego_pose[lidar]], record, first_box_field_, buffers);
  const Row before = t_.samples.prev[sample];
  const int64_t begin =
      before == kNoRow ? std::numeric_limits<int64_t>::min() : t_.samples.timestamp[before];
  for (size_t i = 0; i < can_bus_.num_messages(); ++i) {
    can_bus_.set(i, t_.scenes.name[scene], begin, t_.samples.timestamp[sample], record,
                 first_can_bus_field_ + i, buffers);
  }
}

void RecordReader::read_sweep(const SplitListing& split, int64_t index, RecordBuilder& record,
                              SampleBuffers& buffers) const {
  const Row row = split.sweeps.at(static_cast<size_t>(index));
  const SampleDataRows& all = t_.sample_data;
  enum : size_t {
    kToken,
    kChannel,
    kScene,
    kTimestamp,
    kPoints,
    kRadarPoints,
    kImage,
    kIntrinsics,
    kPoses,
    kEgo,
    kFilename,
    kSample
  };
  record.set_string(kToken, buffers.text(to_string(all.token[row])));
  record.set_string(kChannel, channel_name(all.channel[row]));
  record.set_string(kScene, t_.scenes.name[t_.samples.scene[all.sample[row]]]);
  record.set_scalar<int64_t>(kTimestamp, all.timestamp[row]);
  const size_t points_field = all.channel[row] == kLidarChannel ? kPoints : kRadarPoints;
  set_data(row, is_camera(all.channel[row]) ? kImage : points_field, kIntrinsics, record, buffers);
  set_poses(row, kPoses, record);
  record.set_string(kFilename, all.filename[row]);
  record.set_string(kSample, buffers.text(to_string(t_.samples.token[all.sample[row]])));
}

void RecordReader::read_map(const SplitListing& split, int64_t index, RecordBuilder& record,
                            SampleBuffers& buffers) const {
  const Row map = split.maps.at(static_cast<size_t>(index));
  record.set_string(0, buffers.text(to_string(t_.maps.token[map])));
  record.set_string(1, t_.maps.location[map]);
  record.set_string(2, t_.maps.filename[map]);
  record.set_bytes(3, read_file(t_.maps.filename[map], buffers));
}

}  // namespace ffkit::nuscenes
