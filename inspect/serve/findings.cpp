#include "serve/findings.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <ffkit/nuscenes/detection.h>

#include "base/make_error.h"
#include "draw/class_results.h"
#include "draw/root_results.h"
#include "scenes/scene_results.h"
#include "scenes/scene_view.h"
#include "serve/detections.h"

namespace ffkit::serve {
namespace {

class ClassFindings : public Findings {
 public:
  ClassFindings(const Dataset& split, const std::filesystem::path& file) : results_(split, file) {
    const std::vector<std::string>& classes = split.manifest().classes;
    for (size_t i = 0; i < classes.size(); ++i) {
      numbers_.emplace(classes[i], static_cast<int64_t>(i));
    }
  }

  [[nodiscard]] std::string_view kind() const override { return "classes"; }
  [[nodiscard]] std::vector<std::string> orders() const override { return {"score", "loss"}; }
  [[nodiscard]] std::string error_name() const override { return ""; }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    const ClassResults::Found* found = results_.find(record);
    if (found == nullptr) return std::nullopt;
    Finding finding{.found_name = found->name, .score = found->score, .loss = found->loss};
    const auto number = numbers_.find(found->name);
    if (number != numbers_.end()) finding.found = number->second;
    if (!found->label.empty()) finding.is_right = found->label == found->name;
    return finding;
  }
  void mark(int64_t, SheetEntry&) const override {}

 private:
  ClassResults results_;
  std::unordered_map<std::string, int64_t> numbers_;
};

class RootFindings : public Findings {
 public:
  RootFindings(const Dataset& split, const std::filesystem::path& file) : results_(split, file) {}

  [[nodiscard]] std::string_view kind() const override { return "roots"; }
  [[nodiscard]] std::vector<std::string> orders() const override { return {"distance"}; }
  [[nodiscard]] std::string error_name() const override { return "distance"; }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    return Finding{.error = results_.distance(record)};
  }
  void mark(int64_t record, SheetEntry& entry) const override {
    nlohmann::ordered_json unused;
    results_.add(record, entry, unused);
  }

 private:
  RootResults results_;
};

constexpr double kMinScore = 0.3;     // of detections that count, and are drawn
constexpr double kMaxDistance = 2.0;  // metres between centres of a match: the middle of nuScenes'

// Detections that match no box of their class, and boxes that none matches: the best first.
int64_t mistakes_in(const nuscenes::SampleTruth& truth,
                    const std::vector<nuscenes::DetectionBox>& found) {
  std::vector<bool> is_matched(truth.boxes.size());
  std::vector<const nuscenes::DetectionBox*> boxes;
  for (const auto& box : found) {
    if (box.score >= kMinScore) boxes.push_back(&box);
  }
  std::ranges::stable_sort(boxes, std::greater(), [](const auto* box) { return box->score; });
  int64_t num_matched = 0;
  for (const nuscenes::DetectionBox* box : boxes) {
    double nearest = kMaxDistance;
    size_t match = is_matched.size();
    for (size_t i = 0; i < truth.boxes.size(); ++i) {
      const nuscenes::DetectionBox& other = truth.boxes[i];
      if (is_matched[i] || other.class_number != box->class_number) continue;
      const double distance = std::hypot(other.translation[0] - box->translation[0],
                                         other.translation[1] - box->translation[1]);
      if (distance < nearest) {
        nearest = distance;
        match = i;
      }
    }
    if (match == is_matched.size()) continue;
    is_matched[match] = true;
    ++num_matched;
  }
  return std::ssize(boxes) + std::ssize(truth.boxes) - 2 * num_matched;
}

class SceneFindings : public Findings {
 public:
  SceneFindings(const Dataset& split, const std::filesystem::path& file)
      : samples_(nuscenes::read_submission(file).samples) {
    std::unordered_map<std::string_view, const nuscenes::SampleDetections*> by_token;
    for (const auto& sample : samples_) by_token.emplace(sample.token, &sample);
    bool has_any = false;
    for (const nuscenes::SampleTruth& truth : nuscenes::read_ground_truth(split).samples) {
      const auto found = by_token.find(truth.token);
      Keyframe& keyframe = keyframes_.emplace_back();
      if (found == by_token.end()) continue;
      has_any = true;
      keyframe = {found->second, mistakes_in(truth, found->second->boxes)};
    }
    if (!has_any) {
      throw error_at(file, ErrorCode::invalid_argument, "has no sample of the split '{}'",
                     split.manifest().split);
    }
  }

  [[nodiscard]] std::string_view kind() const override { return "scenes"; }
  [[nodiscard]] std::vector<std::string> orders() const override { return {"mistakes"}; }
  [[nodiscard]] std::string error_name() const override { return "mistakes"; }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    const Keyframe& keyframe = keyframes_.at(static_cast<size_t>(record));
    if (keyframe.found == nullptr) return std::nullopt;
    return Finding{.is_right = keyframe.mistakes == 0,
                   .error = static_cast<double>(keyframe.mistakes)};
  }
  void mark(int64_t, SheetEntry&) const override {}
  [[nodiscard]] std::vector<SeenBox> scene_boxes(int64_t record) const override {
    const Keyframe& keyframe = keyframes_.at(static_cast<size_t>(record));
    if (keyframe.found == nullptr) return {};
    return seen_boxes(*keyframe.found, kMinScore);
  }

 private:
  struct Keyframe {
    const nuscenes::SampleDetections* found = nullptr;  // null: the file lacks the sample
    int64_t mistakes = 0;
  };
  std::vector<nuscenes::SampleDetections> samples_;
  std::vector<Keyframe> keyframes_;
};

class DetectionFindings : public Findings {
 public:
  DetectionFindings(const Dataset& split, const std::filesystem::path& file)
      : detections_(read_detections(split, file)) {
    mistakes_.resize(detections_.size());
    tbb::parallel_for(size_t{0}, mistakes_.size(), [&](size_t i) {
      mistakes_[i] = detection_mistakes(split, static_cast<int64_t>(i), detections_[i], kMinScore);
    });
  }

  [[nodiscard]] std::string_view kind() const override { return "detections"; }
  [[nodiscard]] std::vector<std::string> orders() const override { return {"mistakes"}; }
  [[nodiscard]] std::string error_name() const override { return "mistakes"; }
  [[nodiscard]] std::optional<Finding> find(int64_t record) const override {
    const int64_t mistakes = mistakes_.at(static_cast<size_t>(record));
    return Finding{.is_right = mistakes == 0, .error = static_cast<double>(mistakes)};
  }
  void mark(int64_t record, SheetEntry& entry) const override {
    for (const Detection& detection : detections_.at(static_cast<size_t>(record))) {
      if (detection.score >= kMinScore) entry.boxes.push_back(detection.box);
    }
  }

 private:
  std::vector<std::vector<Detection>> detections_;
  std::vector<int64_t> mistakes_;
};

}  // namespace

std::unique_ptr<Findings> read_findings(const Dataset& split, const std::filesystem::path& file) {
  if (ClassResults::can_be(file)) return std::make_unique<ClassFindings>(split, file);
  if (has_scenes(split.schema())) return std::make_unique<SceneFindings>(split, file);
  if (RootResults::can_be_of(split.schema())) return std::make_unique<RootFindings>(split, file);
  if (can_have_detections(split.schema())) {
    return std::make_unique<DetectionFindings>(split, file);
  }
  if (!std::ifstream(file)) throw error_at(file, ErrorCode::not_found, "cannot be opened");
  throw error_at(file, ErrorCode::invalid_argument,
                 "is no file of predicted classes, an object a line with record, class and score, "
                 "and the split '{}' has no scenes, persons or boxes that other results are of",
                 split.manifest().split);
}

double value_of(const Finding& finding, std::string_view order) {
  if (order == "score") return finding.score;
  if (order == "loss") return finding.loss;
  return finding.error;
}

}  // namespace ffkit::serve
