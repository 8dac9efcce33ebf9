#include "detection_curves.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Errors = std::array<std::vector<double>, kTpErrors.size()>;

double distance(double x, double y) {
  return std::sqrt(x * x + y * y);
}

double center_distance(const DetectionBox& a, const DetectionBox& b) {
  return distance(b.translation[0] - a.translation[0], b.translation[1] - a.translation[1]);
}

// 1 - intersection over union of two boxes at the same place.
double scale_error(const DetectionBox& truth, const DetectionBox& detection) {
  double truth_volume = 1;
  double detection_volume = 1;
  double common = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (!(truth.size[i] > 0 && detection.size[i] > 0)) {
      throw error_of(ErrorCode::invalid_argument,
                     "a matched detection of class {} has the size [{}, {}, {}]; expected a width, "
                     "length and height above 0",
                     kClasses[detection.class_number], detection.size[0], detection.size[1],
                     detection.size[2]);
    }
    truth_volume *= truth.size[i];
    detection_volume *= detection.size[i];
    common *= std::min(truth.size[i], detection.size[i]);
  }
  return 1 - common / (truth_volume + detection_volume - common);
}

double orientation_error(const DetectionBox& truth, const DetectionBox& detection, double period) {
  const double difference = yaw_of(truth.rotation) - yaw_of(detection.rotation) + period / 2;
  // Python's %: the remainder of a positive divisor is not negative.
  return std::fabs(difference - std::floor(difference / period) * period - period / 2);
}

double attribute_error(const DetectionBox& truth, const DetectionBox& detection) {
  if (truth.attribute < 0) return kNaN;
  return truth.attribute == detection.attribute ? 0 : 1;
}

void add_errors(const DetectionBox& truth, const DetectionBox& detection, double period,
                Errors& errors) {
  errors[0].push_back(center_distance(truth, detection));
  errors[1].push_back(scale_error(truth, detection));
  errors[2].push_back(orientation_error(truth, detection, period));
  errors[3].push_back(distance(detection.velocity[0] - truth.velocity[0],
                               detection.velocity[1] - truth.velocity[1]));
  errors[4].push_back(attribute_error(truth, detection));
}

// Means of all values so far without the NaNs among them; ones when all are NaN, 0 before the first
// number.
std::vector<double> cumulative_mean(const std::vector<double>& values) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  std::vector<double> means(values.size(), 1);
  if (std::all_of(values.begin(), values.end(), is_nan)) return means;
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_nan(values[i])) {
      sum += values[i];
      count += 1;
    }
    means[i] = count > 0 ? sum / count : 0;
  }
  return means;
}

double recall_at(size_t step) {
  // numpy.linspace(0, 1, 101), to the last bit: recalls are compared with it for equality.
  return static_cast<double>(step) * 0.01;
}

size_t first_step(double min_recall) {
  return static_cast<size_t>(std::nearbyint(100 * min_recall)) + 1;
}

DetectionCurves without_matches() {
  DetectionCurves curves;
  for (auto& curve : curves.errors) curve.fill(1);
  return curves;
}

// Highest score first; of equal scores the one that came last.
std::vector<size_t> by_score(const std::vector<ClassBoxes::Detection>& detections) {
  std::vector<size_t> order(detections.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](size_t i) { return detections[i].box->score; });
  return order;
}

}  // namespace

double interpolate(double x, const std::vector<double>& xp, const std::vector<double>& fp,
                   double left, double right) {
  if (x > xp.back()) return right;
  if (x < xp.front()) return left;
  const auto above = std::upper_bound(xp.begin(), xp.end(), x);
  const auto j = static_cast<size_t>(above - xp.begin()) - 1;
  if (j + 1 == xp.size() || xp[j] == x) return fp[j];
  const double slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]);
  return slope * (x - xp[j]) + fp[j];
}

DetectionCurves match_detections(const ClassBoxes& boxes, int class_number, double max_distance) {
  size_t num_truth = 0;
  for (const auto& sample : boxes.truth) num_truth += sample.size();
  if (num_truth == 0) return without_matches();

  // Barriers look the same from both sides.
  const double period = kClasses[class_number] == "barrier" ? kPi : 2 * kPi;
  std::vector<std::vector<char>> taken;
  taken.reserve(boxes.truth.size());
  for (const auto& sample : boxes.truth) taken.emplace_back(sample.size(), char{0});
  std::vector<double> recall;
  std::vector<double> precision;
  std::vector<double> confidence;
  std::vector<double> matched_confidence;
  Errors errors;
  double num_matched = 0;
  for (const size_t i : by_score(boxes.detections)) {
    const ClassBoxes::Detection& detection = boxes.detections[i];
    const auto& candidates = boxes.truth[detection.sample];
    auto& is_taken = taken[detection.sample];
    double nearest = std::numeric_limits<double>::infinity();
    size_t match = 0;
    for (size_t k = 0; k < candidates.size(); ++k) {
      if (is_taken[k] != 0) continue;
      const double away = center_distance(*candidates[k], *detection.box);
      if (away < nearest) {
        nearest = away;
        match = k;
      }
    }
    if (nearest < max_distance) {
      is_taken[match] = 1;
      num_matched += 1;
      add_errors(*candidates[match], *detection.box, period, errors);
      matched_confidence.push_back(detection.box->score);
    }
    confidence.push_back(detection.box->score);
    precision.push_back(num_matched / static_cast<double>(confidence.size()));
    recall.push_back(num_matched / static_cast<double>(num_truth));
  }
  if (matched_confidence.empty()) return without_matches();

  DetectionCurves curves;
  for (size_t step = 0; step < DetectionCurves::kNumSteps; ++step) {
    const double at = recall_at(step);
    curves.precision[step] = interpolate(at, recall, precision, precision.front(), 0);
    curves.confidence[step] = interpolate(at, recall, confidence, confidence.front(), 0);
  }
  std::reverse(matched_confidence.begin(), matched_confidence.end());
  for (size_t e = 0; e < errors.size(); ++e) {
    std::vector<double> means = cumulative_mean(errors[e]);
    std::reverse(means.begin(), means.end());
    for (size_t step = 0; step < DetectionCurves::kNumSteps; ++step) {
      curves.errors[e][step] = interpolate(curves.confidence[step], matched_confidence, means,
                                           means.front(), means.back());
    }
  }
  return curves;
}

double average_precision(const DetectionCurves& curves, double min_recall, double min_precision) {
  double sum = 0;
  const size_t first = first_step(min_recall);
  for (size_t step = first; step < DetectionCurves::kNumSteps; ++step) {
    sum += std::max(0.0, curves.precision[step] - min_precision);
  }
  return sum / static_cast<double>(DetectionCurves::kNumSteps - first) / (1 - min_precision);
}

double mean_error(const DetectionCurves& curves, size_t error, double min_recall) {
  const size_t first = first_step(min_recall);
  size_t last = 0;  // the highest recall that was reached
  for (size_t step = 0; step < DetectionCurves::kNumSteps; ++step) {
    if (curves.confidence[step] != 0) last = step;
  }
  if (last < first) return 1;
  double sum = 0;
  for (size_t step = first; step <= last; ++step) sum += curves.errors[error][step];
  return sum / static_cast<double>(last - first + 1);
}

}  // namespace ffkit::nuscenes
