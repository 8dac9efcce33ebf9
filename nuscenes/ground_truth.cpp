#include <ffkit/nuscenes/detection.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "field_column.h"

namespace ffkit::nuscenes {
namespace {

constexpr std::string_view kBicycleRack = "static_object.bicycle_rack";
constexpr size_t kGlobalColumns = 10;

}  // namespace

GroundTruth read_ground_truth(const Dataset& split) {
  FieldColumn tokens(split, keyframe::kToken);
  FieldColumn ego(split, channel_field(kLidar, channel::kEgoToGlobal));
  FieldColumn global(split, keyframe::kBoxGlobal);
  FieldColumn velocities(split, keyframe::kBoxVelocity);
  FieldColumn classes(split, keyframe::kBoxClass);
  FieldColumn categories(split, keyframe::kBoxCategory);
  FieldColumn lidar_points(split, keyframe::kBoxNumLidarPoints);
  FieldColumn radar_points(split, keyframe::kBoxNumRadarPoints);
  FieldColumn attributes(split, keyframe::kBoxAttribute);
  GroundTruth truth;
  int64_t num_boxes = 0;
  for (int64_t record = 0; record < split.num_records(); ++record) {
    SampleTruth& sample = truth.samples.emplace_back();
    sample.token = tokens.read(record).string();
    sample.ego_translation = make_pose(ego.numbers<double>(record, 1, 7)).translation;
    const auto numbers = global.numbers<double>(record, -1, kGlobalColumns);
    const auto rows = static_cast<int64_t>(numbers.size() / kGlobalColumns);
    const auto velocity = velocities.numbers<double>(record, rows, 3);
    const auto class_numbers = classes.numbers<int64_t>(record, rows, 1);
    const auto num_lidar = lidar_points.numbers<int64_t>(record, rows, 1);
    const auto num_radar = radar_points.numbers<int64_t>(record, rows, 1);
    const auto attribute = attributes.numbers<int64_t>(record, rows, 1);
    const FieldView category_field = categories.read(record);
    const ListView names = category_field.list();
    num_boxes += rows;
    for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
      const double* n = &numbers[i * kGlobalColumns];
      const Box box{.center = {n[0], n[1], n[2]},
                    .size = {n[3], n[4], n[5]},
                    .rotation = {n[6], n[7], n[8], n[9]}};
      if (names.string(i) == kBicycleRack) sample.bicycle_racks.push_back(box);
      if (class_numbers[i] < 0 || class_numbers[i] >= std::ssize(kClasses)) continue;
      sample.boxes.push_back({.translation = box.center,
                              .size = box.size,
                              .rotation = box.rotation,
                              .velocity = {velocity[3 * i], velocity[3 * i + 1]},
                              .class_number = static_cast<int>(class_numbers[i]),
                              .attribute = static_cast<int>(attribute[i]),
                              .num_points = num_lidar[i] + num_radar[i]});
    }
  }
  if (num_boxes == 0) {
    throw dataset_error(
        split.path(), ErrorCode::invalid_argument,
        "has no annotations, as the test split; there is nothing to evaluate against");
  }
  return truth;
}

bool has_annotations(const Dataset& split) {
  FieldColumn points(split, keyframe::kBoxNumLidarPoints);
  for (int64_t record = 0; record < split.num_records(); ++record) {
    if (!points.numbers<int64_t>(record, -1, 1).empty()) return true;
  }
  return false;
}

}  // namespace ffkit::nuscenes
