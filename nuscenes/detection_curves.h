// DetectionCurves: detections of one class matched to the ground truth at one distance: precision
// and errors over 101 steps of recall.
//
// As accumulate(), calc_ap() and calc_tp() of the devkit's eval/detection/algo.py.
#pragma once

#include <array>
#include <vector>

#include <ffkit/nuscenes/detection.h>

namespace ffkit::nuscenes {

// The boxes of one class that count.
struct ClassBoxes {
  // By sample, in the order of the ground truth.
  std::vector<std::vector<const DetectionBox*>> truth;
  struct Detection {
    size_t sample = 0;
    const DetectionBox* box = nullptr;
  };
  std::vector<Detection> detections;  // in the order of the submission
};

struct DetectionCurves {
  static constexpr size_t kNumSteps = 101;
  using Curve = std::array<double, kNumSteps>;

  Curve precision{};
  Curve confidence{};
  std::array<Curve, kTpErrors.size()> errors{};  // as kTpErrors
};

// `class_number` decides what half a turn means. Throws Error(invalid_argument) for a matched box
// whose size is not above 0.
DetectionCurves match_detections(const ClassBoxes& boxes, int class_number, double max_distance);

double average_precision(const DetectionCurves& curves, double min_recall, double min_precision);
double mean_error(const DetectionCurves& curves, size_t error, double min_recall);

// numpy.interp(x, xp, fp, left, right) at one x; xp ascends and may repeat.
double interpolate(double x, const std::vector<double>& xp, const std::vector<double>& fp,
                   double left, double right);

}  // namespace ffkit::nuscenes
