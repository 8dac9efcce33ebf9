#include "scenes/scene_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include <ffkit/nuscenes/classes.h>

#include "draw/own_sheets.h"
#include "text/output.h"
#include "tools/common/output_file.h"

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

// Of a class, -1 for none.
Color color_of_class(int64_t class_number) {
  if (class_number < 0 || class_number >= std::ssize(kClasses)) return kOther;
  return kClassColors[class_number];
}

}  // namespace

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
    throw Error(ErrorCode::corrupt, "the numbers of boxes and of classes of boxes differ");
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

namespace {

constexpr int kMargin = 10;

// The detections of the sample `token`. Reads the whole file.
std::vector<SeenBox> read_predictions(const SceneResults& results, const std::string& token) {
  const nuscenes::Submission submission = nuscenes::read_submission(results.file);
  const auto sample =
      std::ranges::find(submission.samples, token, &nuscenes::SampleDetections::token);
  if (sample == submission.samples.end()) {
    throw error_at(results.file, ErrorCode::not_found,
                   "the results have no sample {}; give results of this split, or another --record",
                   token);
  }
  return seen_boxes(*sample, results.min_score);
}

struct Caption {
  std::string text;
  Color color;
  int x = 0;
  int line = 0;
};

// The number of boxes of each class, in its colour.
std::vector<Caption> class_captions(const std::vector<SeenBox>& boxes) {
  std::map<int64_t, int64_t> counts;
  for (const SeenBox& seen : boxes) ++counts[std::max<int64_t>(seen.class_number, -1)];
  std::vector<Caption> captions;
  for (const auto& [class_number, count] : counts) {
    const std::string_view name = class_number < 0 ? "other" : kClasses.at(class_number);
    captions.push_back({fmt::format("{} {}", count, name), color_of_class(class_number)});
  }
  return captions;
}

// Which colour is what.
std::vector<Caption> result_captions(const SceneView& view, double min_score) {
  return {{fmt::format("green: {} annotated", view.num_boxes), kTruthColor},
          {fmt::format("magenta: {} predicted with a score of {:g} or more", view.num_predictions,
                       min_score),
           kPredictionColor}};
}

// The title with the captions behind it, at the right; where they are wider than that, both in as
// many lines as they take.
std::vector<Caption> lay_out(const std::string& title, std::vector<Caption> captions, int width) {
  const auto width_of = [](const Caption& caption) { return text_width(caption.text, kText); };
  int all = 0;
  for (const Caption& caption : captions) all += width_of(caption) + 2 * kMargin;
  std::vector<Caption> placed;
  for (const std::string& line : wrap_text(title, width - 2 * kMargin, kText, 4)) {
    placed.push_back({line, kSceneBlack, kMargin, static_cast<int>(placed.size())});
  }
  const bool is_one_line =
      placed.size() == 1 && 2 * kMargin + width_of(placed.front()) + all <= width;
  int line = is_one_line ? 0 : static_cast<int>(placed.size());
  int x = is_one_line ? width - all : kMargin;
  for (Caption& caption : captions) {
    const int end = x + width_of(caption);
    if (end > width - kMargin && x > kMargin) {
      ++line;
      x = kMargin;
    }
    caption.line = line;
    caption.x = x;
    x += width_of(caption) + 2 * kMargin;
    placed.push_back(std::move(caption));
  }
  return placed;
}

std::string text_of(const Keyframe& record, const char* name) {
  return record.has(name) ? std::string(record.field(name).string()) : "";
}

}  // namespace

SceneView draw_scene(const Dataset& dataset, int64_t index, int camera_width,
                     const std::optional<SceneResults>& results) {
  // As nuScenes' devkit shows them.
  constexpr std::array<const char*, 6> kPlaces = {"CAM_FRONT_LEFT", "CAM_FRONT", "CAM_FRONT_RIGHT",
                                                  "CAM_BACK_LEFT",  "CAM_BACK",  "CAM_BACK_RIGHT"};
  std::vector<std::byte> bytes;
  dataset.read(index, bytes);
  const Keyframe record(dataset.schema(), bytes, dataset.name(index));
  std::vector<SeenBox> boxes = read_boxes(record);
  const int64_t num_truth = std::ssize(boxes);
  if (results) {
    for (SeenBox& box : boxes) box.color = kTruthColor;
    const std::vector<SeenBox> predictions =
        read_predictions(*results, text_of(record, keyframe::kToken));
    boxes.insert(boxes.end(), predictions.begin(), predictions.end());
  }
  const int camera_height = camera_width * 9 / 16;
  const int row_height = camera_height + kText + kMargin;
  const int side = 2 * row_height - kText - kMargin;
  const int left_of_above = kMargin + 3 * (camera_width + kMargin);
  const int width = left_of_above + side + kMargin;
  SceneView view{.canvas = Canvas(1, 1, kWhite),
                 .token = text_of(record, keyframe::kToken),
                 .scene = text_of(record, keyframe::kScene),
                 .num_boxes = num_truth,
                 .num_predictions = std::ssize(boxes) - num_truth};
  const std::vector<Caption> captions =
      lay_out(fmt::format("{} #{}  {}  {}", view.scene, dataset.index_in_split(index), view.token,
                          text_of(record, keyframe::kLocation)),
              results ? result_captions(view, results->min_score) : class_captions(boxes), width);
  const int num_lines = captions.empty() ? 1 : captions.back().line + 1;
  const int top = num_lines * kText + 2 * kMargin;
  view.canvas = Canvas(width, top + 2 * row_height, kWhite);
  for (const Caption& caption : captions) {
    draw_text(view.canvas, caption.x, kMargin + caption.line * kText, caption.text, kText,
              caption.color);
  }
  BoxCounts drawn;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    const int column = static_cast<int>(i) % 3;
    const int row = static_cast<int>(i) / 3;
    const Rect place{kMargin + column * (camera_width + kMargin), top + row * row_height + kText,
                     camera_width, camera_height};
    const std::string problem = draw_camera(view.canvas, place, record, kPlaces[i], boxes, drawn);
    if (!problem.empty()) view.problems.push_back(fmt::format("{}: {}", kPlaces[i], problem));
  }
  view.num_boxes_drawn = drawn.truth;
  view.num_predictions_drawn = drawn.predictions;
  const std::vector<std::string> missing =
      draw_from_above(view.canvas, {left_of_above, top + kText, side, side}, record, boxes);
  view.problems.insert(view.problems.end(), missing.begin(), missing.end());
  return view;
}

// A keyframe as `view` writes it.
void write_scene_sheet(const Dataset& dataset, int64_t index, const SceneSheet& sheet) {
  std::optional<SceneResults> results;
  if (!sheet.results.empty()) results = {sheet.results, sheet.min_score};
  const SceneView view = draw_scene(dataset, index, sheet.camera_width, results);
  write_output(sheet.output, encode_png(view.canvas.view()));
  if (!sheet.json) return;
  Json json = {{"split", dataset.manifest().split},
               {"record", dataset.index_in_split(index)},
               {"token", view.token},
               {"scene", view.scene},
               {"num_boxes", view.num_boxes},
               {"num_boxes_drawn", view.num_boxes_drawn},
               {"problems", view.problems},
               {"output", sheet.output},
               {"width", view.canvas.width()},
               {"height", view.canvas.height()}};
  if (results) {
    json["num_predictions"] = view.num_predictions;
    json["num_predictions_drawn"] = view.num_predictions_drawn;
  }
  print_json(json);
}

}  // namespace ffkit
