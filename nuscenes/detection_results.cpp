#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include <ffkit/nuscenes/detection_results.h>
#include <ffkit/nuscenes/record.h>

#include "base/errors_only.h"
#include "base/make_error.h"
#include "field_column.h"

namespace ffkit::nuscenes {
namespace {

// The modality of BEVFormer's configurations.
constexpr const char* kMeta =
    R"({"use_camera": true, "use_lidar": false, "use_radar": false, "use_map": false, "use_external": true})";
constexpr double kMovingSpeed = 0.2;  // m/s

// By class, in the order of kClasses: mmdetection3d's rule for what moves, and for what does not.
struct ClassAttributes {
  std::string_view moving;
  std::string_view still;
};
constexpr std::array<ClassAttributes, kClasses.size()> kAttributesOfClass = {{
    {"vehicle.moving", "vehicle.parked"},          // car
    {"vehicle.moving", "vehicle.parked"},          // truck
    {"vehicle.moving", "vehicle.parked"},          // construction_vehicle
    {"vehicle.moving", "vehicle.stopped"},         // bus
    {"vehicle.moving", "vehicle.parked"},          // trailer
    {"", ""},                                      // barrier
    {"cycle.with_rider", "cycle.without_rider"},   // motorcycle
    {"cycle.with_rider", "cycle.without_rider"},   // bicycle
    {"pedestrian.moving", "pedestrian.standing"},  // pedestrian
    {"", ""},                                      // traffic_cone
}};

int attribute_of(int class_of_box, const Vector3& velocity) {
  const ClassAttributes& of_class = kAttributesOfClass[class_of_box];
  const bool is_moving =
      std::sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1]) > kMovingSpeed;
  return attribute_number(is_moving ? of_class.moving : of_class.still);
}

void check_detection(const LidarDetection& detection, int64_t keyframe, size_t box) {
  const auto refuse = [&](const std::string& what) {
    throw error_of(ErrorCode::invalid_argument, "detection {} of keyframe {} {}", box, keyframe,
                   what);
  };
  if (detection.class_number < 0 || detection.class_number >= std::ssize(kClasses)) {
    refuse(fmt::format("is of class {}; there are 0 .. {}", detection.class_number,
                       kClasses.size() - 1));
  }
  const bool is_finite =
      std::isfinite(detection.score) &&
      std::ranges::all_of(detection.box, [](double number) { return std::isfinite(number); });
  if (!is_finite) {
    refuse("has a number that is not finite; look at the network's loss, or train it longer");
  }
}

// Leaves the `count` best, in the order that they had.
void keep_best(std::vector<DetectionBox>& boxes, int64_t count) {
  if (std::ssize(boxes) <= count) return;
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](size_t i) { return boxes[i].score; });
  order.resize(count);
  std::ranges::sort(order);
  std::vector<DetectionBox> best;
  best.reserve(order.size());
  for (const size_t i : order) best.push_back(boxes[i]);
  boxes = std::move(best);
}

Submission submission_of(const Dataset& keyframes, std::span<const KeyframeDetections> detections,
                         const DetectionConfig& config) {
  FieldColumn tokens(keyframes, keyframe::kToken);
  FieldColumn sensor(keyframes, channel_field(kLidar, channel::kSensorToEgo));
  FieldColumn ego(keyframes, channel_field(kLidar, channel::kEgoToGlobal));
  Submission submission{.meta = kMeta, .samples = {}};
  std::unordered_set<int64_t> seen;
  for (const KeyframeDetections& found : detections) {
    if (!seen.insert(found.keyframe).second) {
      throw error_of(ErrorCode::invalid_argument, "there are detections of keyframe {} twice",
                     found.keyframe);
    }
    SampleDetections& sample = submission.samples.emplace_back();
    sample.token = tokens.read(found.keyframe).string();
    const Pose sensor_to_ego = make_pose(sensor.numbers<double>(found.keyframe, 1, 7));
    const Pose ego_to_global = make_pose(ego.numbers<double>(found.keyframe, 1, 7));
    for (size_t i = 0; i < found.boxes.size(); ++i) {
      const LidarDetection& detection = found.boxes[i];
      check_detection(detection, found.keyframe, i);
      const Box in_ego = move(lidar_box(detection.box), sensor_to_ego);
      const double distance =
          std::sqrt(in_ego.center[0] * in_ego.center[0] + in_ego.center[1] * in_ego.center[1]);
      if (distance > config.class_range[detection.class_number]) continue;
      const Box box = move(in_ego, ego_to_global);
      sample.boxes.push_back({.translation = box.center,
                              .size = box.size,
                              .rotation = box.rotation,
                              .velocity = {box.velocity[0], box.velocity[1]},
                              .class_number = detection.class_number,
                              .attribute = attribute_of(detection.class_number, box.velocity),
                              .score = detection.score});
    }
    keep_best(sample.boxes, config.max_boxes_per_sample);
  }
  return submission;
}

}  // namespace

Submission make_submission(const Dataset& keyframes, std::span<const KeyframeDetections> detections,
                           const DetectionConfig& config) {
  return errors_only(keyframes.path(),
                     [&] { return submission_of(keyframes, detections, config); });
}

}  // namespace ffkit::nuscenes
