#include "scenes/scene_results.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/detection.h>

#include "base/make_error.h"

namespace ffkit {

std::vector<SeenBox> read_predictions(const SceneResults& results, const std::string& token) {
  const nuscenes::Submission submission = nuscenes::read_submission(results.file);
  const auto sample =
      std::ranges::find(submission.samples, token, &nuscenes::SampleDetections::token);
  if (sample == submission.samples.end()) {
    throw error_at(results.file, ErrorCode::not_found,
                   "the results lack sample {}; give those of this split, or another --record",
                   token);
  }
  return seen_boxes(*sample, results.min_score);
}

std::vector<SeenBox> seen_boxes(const nuscenes::SampleDetections& sample, double min_score) {
  std::vector<SeenBox> boxes;
  for (const nuscenes::DetectionBox& box : sample.boxes) {
    if (box.score < min_score) continue;
    boxes.push_back(
        {.box = {.center = box.translation,
                 .size = box.size,
                 .rotation = box.rotation,
                 .velocity = {box.velocity[0], box.velocity[1], 0}},
         .class_number = box.class_number,
         .name = fmt::format("{} {:.2f}", nuscenes::kClasses[box.class_number], box.score),
         .is_prediction = true,
         .color = kPredictionColor});
  }
  return boxes;
}

}  // namespace ffkit
