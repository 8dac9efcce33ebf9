
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include <ffkit/nuscenes/detection.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "detection_curves.h"
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
      if (!has_extent(box)) continue;
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
        "has no annotations, like the test split; evaluate on a split with annotations");
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

namespace {

bool is_parked_in(const DetectionBox& box, const std::vector<BoxInterior>& racks) {
  const std::string_view name = kClasses[box.class_number];
  if (name != "bicycle" && name != "motorcycle") return false;
  return std::ranges::any_of(
      racks, [&](const BoxInterior& rack) { return rack.contains(box.translation); });
}

// What of the ground truth decides whether a box of the sample counts.
struct SampleFilter {
  explicit SampleFilter(const SampleTruth& sample) : ego(sample.ego_translation) {
    for (const Box& rack : sample.bicycle_racks) racks.emplace_back(rack);
  }
  bool keeps(const DetectionBox& box, const DetectionConfig& config) const {
    const double x = box.translation[0] - ego[0];
    const double y = box.translation[1] - ego[1];
    return std::sqrt(x * x + y * y) < config.class_range[box.class_number] && box.num_points != 0 &&
           !is_parked_in(box, racks);
  }
  Vector3 ego;
  std::vector<BoxInterior> racks;
};

// Position of each of the submission's samples in the ground truth. Both must have the same
// samples.
std::vector<size_t> find_samples(const GroundTruth& truth, const Submission& submission) {
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < truth.samples.size(); ++i) places.emplace(truth.samples[i].token, i);
  std::vector<size_t> found;
  std::vector<char> has_results(truth.samples.size(), 0);
  for (const SampleDetections& sample : submission.samples) {
    const auto place = places.find(sample.token);
    if (place == places.end()) {
      throw error_of(ErrorCode::invalid_argument,
                     "the results contain sample {}, but the split does not contain this sample; "
                     "evaluate the results on the split that they were made from",
                     sample.token);
    }
    if (has_results[place->second] != 0) {
      throw error_of(ErrorCode::invalid_argument,
                     "the results contain the sample {} twice; remove one of the two",
                     sample.token);
    }
    has_results[place->second] = 1;
    found.push_back(place->second);
  }
  const auto num_missing = std::count(has_results.begin(), has_results.end(), char{0});
  if (num_missing > 0) {
    const auto first = std::find(has_results.begin(), has_results.end(), char{0});
    throw error_of(
        ErrorCode::invalid_argument,
        "the results contain no list for {} of the {} samples in the split (the first of these "
        "samples is {}); give a list for every sample, or an empty list if nothing was detected",
        num_missing, truth.samples.size(), truth.samples[first - has_results.begin()].token);
  }
  return found;
}

std::vector<ClassBoxes> choose_boxes(const GroundTruth& truth, const Submission& submission,
                                     const DetectionConfig& config) {
  const std::vector<size_t> places = find_samples(truth, submission);
  std::vector<ClassBoxes> classes(kClasses.size());
  for (ClassBoxes& boxes : classes) boxes.truth.resize(truth.samples.size());
  std::vector<SampleFilter> filters;
  for (size_t i = 0; i < truth.samples.size(); ++i) {
    const SampleFilter& filter = filters.emplace_back(truth.samples[i]);
    for (const DetectionBox& box : truth.samples[i].boxes) {
      if (!filter.keeps(box, config)) continue;
      classes[box.class_number].truth[i].push_back(&box);
    }
  }
  for (size_t i = 0; i < places.size(); ++i) {
    for (const DetectionBox& box : submission.samples[i].boxes) {
      if (!filters[places[i]].keeps(box, config)) continue;
      classes[box.class_number].detections.push_back({places[i], &box});
    }
  }
  return classes;
}

// Cones have no front, and neither cones nor barriers a velocity or attributes.
bool has_error(std::string_view class_name, std::string_view error) {
  const bool is_size_or_place = error == "trans_err" || error == "scale_err";
  if (class_name == "traffic_cone") return is_size_or_place;
  if (class_name == "barrier") return is_size_or_place || error == "orient_err";
  return true;
}

template <size_t N>
double mean(const std::array<double, N>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(N);
}

double mean_over_classes(const DetectionMetrics& metrics, size_t error) {
  double sum = 0;
  double count = 0;
  for (const auto& errors : metrics.label_tp_errors) {
    if (std::isnan(errors[error])) continue;
    sum += errors[error];
    count += 1;
  }
  return sum / count;
}

void summarise(const DetectionConfig& config, DetectionMetrics& metrics) {
  for (size_t c = 0; c < kClasses.size(); ++c)
    metrics.mean_dist_aps[c] = mean(metrics.label_aps[c]);
  metrics.mean_ap = mean(metrics.mean_dist_aps);
  double total = config.mean_ap_weight * metrics.mean_ap;
  for (size_t e = 0; e < kTpErrors.size(); ++e) {
    metrics.tp_errors[e] = mean_over_classes(metrics, e);
    metrics.tp_scores[e] = std::max(0.0, 1 - metrics.tp_errors[e]);
    total += metrics.tp_scores[e];
  }
  metrics.nd_score = total / (config.mean_ap_weight + static_cast<double>(kTpErrors.size()));
}

}  // namespace

DetectionMetrics evaluate(const GroundTruth& truth, const Submission& submission,
                          const DetectionConfig& config) {
  const std::vector<ClassBoxes> classes = choose_boxes(truth, submission, config);
  DetectionMetrics metrics;
  for (size_t c = 0; c < kClasses.size(); ++c) {
    const ClassBoxes& boxes = classes[c];
    metrics.num_detections[c] = std::ssize(boxes.detections);
    for (const auto& sample : boxes.truth) metrics.num_truth[c] += std::ssize(sample);
    for (size_t t = 0; t < config.distance_thresholds.size(); ++t) {
      const DetectionCurves curves =
          match_detections(boxes, static_cast<int>(c), config.distance_thresholds[t]);
      metrics.label_aps[c][t] = average_precision(curves, config.min_recall, config.min_precision);
      if (t != config.tp_threshold) continue;
      for (size_t e = 0; e < kTpErrors.size(); ++e) {
        metrics.label_tp_errors[c][e] = has_error(kClasses[c], kTpErrors[e])
                                            ? mean_error(curves, e, config.min_recall)
                                            : std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  summarise(config, metrics);
  return metrics;
}

}  // namespace ffkit::nuscenes
