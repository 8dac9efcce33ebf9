#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include <ffkit/nuscenes/detection_results.h>
#include <ffkit/nuscenes/record.h>

#include "base/file/file.h"
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
    refuse(
        fmt::format("has class {}; expected 0 to {}", detection.class_number, kClasses.size() - 1));
  }
  const bool is_finite =
      std::isfinite(detection.score) &&
      std::ranges::all_of(detection.box, [](double number) { return std::isfinite(number); });
  if (!is_finite) {
    refuse(
        "has a number that is not finite; check the loss of the network, or train the network "
        "longer");
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
      throw error_of(ErrorCode::invalid_argument, "keyframe {} appears twice in the detections",
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

namespace {

void append_text(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// The fewest digits that give the same number when they are read, at most 17.
void append_number(double number, std::string& out) {
  if (!std::isfinite(number)) {
    throw Error(ErrorCode::invalid_argument, "a box has a number that is not finite");
  }
  fmt::format_to(std::back_inserter(out), "{}", number);
}

void append_list(std::string_view name, std::span<const double> numbers, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\"{}\": [", name);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ", ";
    append_number(numbers[i], out);
  }
  out += "], ";
}

void append_box(const DetectionBox& box, std::string_view token, std::string& out) {
  if (box.class_number < 0 || box.class_number >= std::ssize(kClasses) || box.attribute < -1 ||
      box.attribute >= std::ssize(kAttributes)) {
    throw error_of(
        ErrorCode::invalid_argument,
        "a box has class {} and attribute {}; expected a class below {} and an attribute below {}",
        box.class_number, box.attribute, kClasses.size(), kAttributes.size());
  }
  out += "{\"sample_token\": ";
  append_text(token, out);
  out += ", ";
  const Quaternion& q = box.rotation;
  append_list("translation", box.translation, out);
  append_list("size", box.size, out);
  append_list("rotation", std::array{q.w, q.x, q.y, q.z}, out);
  append_list("velocity", box.velocity, out);
  const std::string_view attribute = box.attribute < 0 ? "" : kAttributes[box.attribute];
  fmt::format_to(std::back_inserter(out),
                 "\"detection_name\": \"{}\", \"detection_score\": ", kClasses[box.class_number]);
  append_number(box.score, out);
  fmt::format_to(std::back_inserter(out), ", \"attribute_name\": \"{}\"}}", attribute);
}

void write_json(File& file, const Submission& submission) {
  const auto write = [&file](const std::string& text) {
    file.write(std::as_bytes(std::span(text)));
  };
  write("{\"meta\": " + (submission.meta.empty() ? "null" : submission.meta) + ", \"results\": {");
  std::string text;  // of one sample
  for (size_t i = 0; i < submission.samples.size(); ++i) {
    const SampleDetections& sample = submission.samples[i];
    text = i == 0 ? "\n" : ",\n";
    append_text(sample.token, text);
    text += ": [";
    for (size_t box = 0; box < sample.boxes.size(); ++box) {
      text += box == 0 ? "\n" : ",\n";
      append_box(sample.boxes[box], sample.token, text);
    }
    text += ']';
    write(text);
  }
  write("}}\n");
}

}  // namespace

void write_submission(const std::filesystem::path& path, const Submission& submission) {
  errors_only(path, [&] {
    write_durably(path, [&](File& file) {
      try {
        write_json(file, submission);
      } catch (const Error& error) {
        if (!error.context().path.empty()) throw;
        throw error.within({.path = path.string()});
      }
    });
  });
}

}  // namespace ffkit::nuscenes
