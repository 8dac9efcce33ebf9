// The nuScenes detection metric: average precision by centre distance, true-positive errors, and
// the nuScenes detection score (NDS), as DetectionEval of nuscenes-devkit 1.2.0 computes them with
// its configuration `detection_cvpr_2019`.
//
//   Submission (results.json) ─┐
//                              ├─ filter ─▶ match by score ─▶ curves ─▶ DetectionMetrics
//   GroundTruth (a split) ─────┘  (class range, points, bicycle racks)
//
// Plain values and pure functions: thread-safe. Classes and attributes are positions in kClasses
// and kAttributes (classes.h).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/geometry.h>

namespace ffkit::nuscenes {

struct DetectionBox {
  Vector3 translation = {0, 0, 0};  // metres, global frame
  Vector3 size = {0, 0, 0};         // width, length, height in metres
  Quaternion rotation;
  std::array<double, 2> velocity = {0, 0};  // global x, y in m/s; NaN where unknown
  int class_number = 0;
  int attribute = -1;       // -1: none
  double score = -1;        // of a detection
  int64_t num_points = -1;  // lidar and radar points inside, of the ground truth; -1: unknown
};

struct SampleTruth {
  std::string token;
  Vector3 ego_translation = {0, 0, 0};  // of the vehicle, when LIDAR_TOP was taken
  std::vector<DetectionBox> boxes;      // of the ten classes
  std::vector<Box> bicycle_racks;       // bicycles and motorcycles in these do not count
};

struct GroundTruth {
  std::vector<SampleTruth> samples;
};

// Reads the needed fields of all keyframes of `split`, a converted nuScenes split. Throws
// Error(invalid_argument) for other splits and for those without annotations (test), and errors of
// Dataset::read_field.
GroundTruth read_ground_truth(const Dataset& split);

// Whether a keyframe of `split`, a converted nuScenes split, has a box; the test split has none.
// Throws like read_ground_truth() for another split.
bool has_annotations(const Dataset& split);

struct SampleDetections {
  std::string token;
  std::vector<DetectionBox> boxes;
};

// Detections in the official format: {"meta": {..}, "results": {<sample token>: [{sample_token,
// translation, size, rotation, velocity, detection_name, detection_score, attribute_name}, ..],
// ..}}.
struct Submission {
  std::string meta;  // the JSON text; "null" without
  // In the order of the file: it decides between equal scores.
  std::vector<SampleDetections> samples;
};

// Needs about 1.5 times the size of the file in memory. Throws Error(not_found), Error(corrupt) for
// invalid JSON, with sample and box, Error(invalid_argument) for more than `max_boxes_per_sample`
// boxes in a sample, Error(unsupported) for a file of 4 GiB or more.
Submission read_submission(const std::filesystem::path& path, int64_t max_boxes_per_sample = 500);

// detection_cvpr_2019.
struct DetectionConfig {
  // The maximal distance of each class, in metres: boxes farther from the vehicle in xy do not
  // count.
  std::array<double, kClasses.size()> class_range = {50, 50, 50, 50, 50, 30, 40, 40, 40, 30};
  std::array<double, 4> distance_thresholds = {0.5, 1.0, 2.0,
                                               4.0};  // metres between centres of a match
  size_t tp_threshold = 2;  // of which threshold the matches give the errors
  double min_recall = 0.1;
  double min_precision = 0.1;
  int64_t max_boxes_per_sample = 500;
  double mean_ap_weight = 5;
};

// True-positive errors, by position.
inline constexpr std::array<std::string_view, 5> kTpErrors = {"trans_err", "scale_err",
                                                              "orient_err", "vel_err", "attr_err"};

struct DetectionMetrics {
  std::array<std::array<double, 4>, kClasses.size()> label_aps{};  // by class and threshold
  std::array<double, kClasses.size()> mean_dist_aps{};
  double mean_ap = 0;
  // By class and kTpErrors; NaN if a class does not have the error (traffic cones have no
  // orientation, ...).
  std::array<std::array<double, kTpErrors.size()>, kClasses.size()> label_tp_errors{};
  std::array<double, kTpErrors.size()> tp_errors{};  // means over the classes that have them
  std::array<double, kTpErrors.size()> tp_scores{};  // max(0, 1 - error)
  double nd_score = 0;
  // Boxes that counted, after filtering, by class.
  std::array<int64_t, kClasses.size()> num_truth{};
  std::array<int64_t, kClasses.size()> num_detections{};
};

// Throws Error(invalid_argument) if the two have different samples, or a matched detection has a
// size that is not above 0.
DetectionMetrics evaluate(const GroundTruth& truth, const Submission& submission,
                          const DetectionConfig& config = {});

}  // namespace ffkit::nuscenes
