#include <algorithm>
#include <cmath>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "record_reader.h"

namespace ffkit::nuscenes {

Split open_split(const std::filesystem::path& path, const std::string& name,
                 const ShardReaderOptions& options) {
  const std::string split = split_there(path, name);
  Split opened{.keyframes = Dataset::open(path, split, options)};
  const std::string sweeps = sweeps_split(split);
  const std::vector<std::string> splits = list_splits(path);
  if (std::find(splits.begin(), splits.end(), sweeps) != splits.end()) {
    opened.sweeps = Dataset::open(path, sweeps, options);
  }
  return opened;
}

namespace {

// Keyframes refer to sweeps and to each other by their numbers in the whole splits.
Split whole(const Split& given) {
  if (given.keyframes.num_sources() > 1) {
    throw dataset_error(
        given.keyframes.path(), ErrorCode::invalid_argument,
        "several data sets are given (this is the first data set), but keyframes refer to each "
        "other by their record numbers in one data set; load each data set with its own loader");
  }
  Split split{.keyframes = given.keyframes.whole_split()};
  if (!given.sweeps) return split;
  split.sweeps = given.sweeps->whole_split();
  const std::string& of_keyframes = split.keyframes.manifest().split;
  const std::string& of_sweeps = split.sweeps->manifest().split;
  // Files that were opened one by one have no names of splits.
  if (of_keyframes.empty() || of_sweeps.empty() || of_sweeps == sweeps_split(of_keyframes)) {
    return split;
  }
  throw dataset_error(split.sweeps->path(), ErrorCode::invalid_argument,
                      "the sweeps belong to '{}', but the keyframes belong to '{}'; give '{}'",
                      of_sweeps, of_keyframes, sweeps_split(of_keyframes));
}

}  // namespace

std::vector<BatchField> keyframe_fields(const Split& given, const KeyframeOptions& options) {
  validate(options.bev);
  const Split split = whole(given);
  const Schema& schema = split.keyframes.schema();
  std::vector<BatchField> fields;
  add_camera_fields(schema, options, fields);
  fields.push_back({"lidar_to_global", decode_lidar_to_global(schema, options.bev)});
  if (options.lidar.is_on) {
    fields.push_back({"points", decode_points(split, {std::string(kLidar)}, kLidarColumns,
                                              options.lidar, options)});
  }
  if (options.lidar.is_on && options.allow_missing) {
    fields.push_back(
        {"lidar_valid", decode_valid(schema, channel_field(kLidar, channel::kPoints))});
  }
  if (options.radar.is_on) {
    fields.push_back({"radar_points", decode_points(split, {kRadars.begin(), kRadars.end()},
                                                    kRadarColumns, options.radar, options)});
  }
  if (options.radar.is_on && options.allow_missing) {
    std::vector<std::string> clouds;
    clouds.reserve(kRadars.size());
    for (const std::string_view radar : kRadars) {
      clouds.push_back(channel_field(radar, channel::kPoints));
    }
    fields.push_back({"radar_valid", decode_valid(schema, clouds)});
  }
  add_box_fields(schema, options.boxes, options.bev, fields);
  fields.push_back({"timestamp", copy_field(schema, keyframe::kTimestamp)});
  if (options.motion) {
    fields.push_back({"motion", decode_motion(split.keyframes, options.can_bus)});
  } else if (options.can_bus != CanBusRule::none) {
    fields.push_back({"can_bus", decode_can_bus(split.keyframes, options.can_bus)});
  }
  if (options.identity) add_identity_fields(split.keyframes, fields);
  return fields;
}

namespace {

constexpr double kPi = 3.14159265358979323846;
// See random_streams.h of the loader.
constexpr uint8_t kBevStream = 3;

}  // namespace

void validate(const BevAugmentation& augmentation) {
  const auto check = [](const char* name, double low, double high, double min, double max) {
    check_bounds(fmt::format("BevAugmentation {}", name), low, high, min, max);
  };
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
