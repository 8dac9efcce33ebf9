#include <algorithm>

#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>

#include "field_decoders.h"

namespace ffkit::nuscenes {

Split open_split(const std::filesystem::path& path, const std::string& split) {
  Split opened{.keyframes = Dataset::open(path, split)};
  const std::string sweeps = sweeps_split(split);
  const std::vector<std::string> splits = list_splits(path);
  if (std::find(splits.begin(), splits.end(), sweeps) != splits.end()) {
    opened.sweeps = Dataset::open(path, sweeps);
  }
  return opened;
}

std::vector<BatchField> keyframe_fields(const Split& split, const KeyframeOptions& options) {
  validate(options.bev);
  const Schema& schema = split.keyframes.schema();
  std::vector<BatchField> fields;
  add_camera_fields(schema, options, fields);
  fields.push_back({"lidar_to_global", decode_lidar_to_global(schema, options.bev)});
  if (options.lidar.is_on) {
    fields.push_back({"points", decode_points(split, {std::string(kLidar)}, kLidarColumns,
                                              options.lidar, options.bev)});
  }
  if (options.radar.is_on) {
    fields.push_back({"radar_points", decode_points(split, {kRadars.begin(), kRadars.end()},
                                                    kRadarColumns, options.radar, options.bev)});
  }
  add_box_fields(schema, options.boxes, options.bev, fields);
  fields.push_back({"timestamp", copy_field(schema, keyframe::kTimestamp)});
  return fields;
}

}  // namespace ffkit::nuscenes
