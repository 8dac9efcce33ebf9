#include <algorithm>

#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "field_decoders.h"

namespace ffkit::nuscenes {

Split open_split(const std::filesystem::path& path, const std::string& split,
                 const ShardReaderOptions& options) {
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
    throw dataset_error(given.keyframes.path(), ErrorCode::invalid_argument,
                        "is the first of several data sets, and keyframes refer to others by their "
                        "numbers in one; load each by itself");
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
                      "the sweeps are of '{}', but the keyframes of '{}'; give '{}'", of_sweeps,
                      of_keyframes, sweeps_split(of_keyframes));
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

}  // namespace ffkit::nuscenes
