#include "scenes/keyframe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/detection.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

using namespace nuscenes;

constexpr Color kOther = {150, 70, 190};
constexpr int64_t kHidden = 1;  // of boxes/visibility

// By position in kClasses.
constexpr std::array<Color, kClasses.size()> kClassColors = {{{255, 140, 0},
                                                              {255, 99, 71},
                                                              {200, 120, 40},
                                                              {255, 69, 180},
                                                              {230, 190, 0},
                                                              {112, 128, 144},
                                                              {220, 20, 60},
                                                              {0, 170, 120},
                                                              {40, 90, 255},
                                                              {60, 60, 60}}};

}  // namespace

bool has_scenes(const Schema& schema) {
  return schema.index_of(channel_field(kLidar, channel::kPoints)) >= 0 &&
         schema.index_of(keyframe::kBoxGlobal) >= 0;
}

Color color_of_class(int64_t class_number) {
  if (class_number < 0 || class_number >= std::ssize(kClasses)) return kOther;
  return kClassColors[class_number];
}

std::vector<SeenBox> read_boxes(const Keyframe& record) {
  std::vector<SeenBox> boxes;
  if (!record.has(keyframe::kBoxGlobal)) return boxes;
  const auto numbers = record.numbers<double>(keyframe::kBoxGlobal);
  const auto velocities = record.numbers<double>(keyframe::kBoxVelocity);
  const auto classes = record.numbers<int64_t>(keyframe::kBoxClass);
  const auto visibility = record.numbers<int64_t>(keyframe::kBoxVisibility);
  const ListView categories = record.field(keyframe::kBoxCategory).list();
  const size_t count = classes.size();
  if (numbers.size() != count * 10 || velocities.size() != count * 3 ||
      visibility.size() != count || categories.size() != count) {
    throw Error(ErrorCode::corrupt, "there are not as many boxes as classes of boxes");
  }
  for (size_t i = 0; i < count; ++i) {
    const double* n = &numbers[i * 10];
    const double* v = &velocities[i * 3];
    SeenBox& seen = boxes.emplace_back();
    seen.box = {.center = {n[0], n[1], n[2]},
                .size = {n[3], n[4], n[5]},
                .rotation = {n[6], n[7], n[8], n[9]},
                .velocity = {v[0], v[1], v[2]}};
    seen.class_number = classes[i];
    seen.color = color_of_class(classes[i]);
    seen.is_hidden = visibility[i] == kHidden;
    if (classes[i] >= 0 && classes[i] < std::ssize(kClasses)) {
      seen.name = kClasses[classes[i]];
    } else {
      const std::string_view category = categories.string(i);
      seen.name = category.substr(category.rfind('.') + 1);
    }
  }
  return boxes;
}

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
