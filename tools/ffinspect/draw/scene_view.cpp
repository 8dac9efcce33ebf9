#include "draw/scene_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>

#include "draw/scene_above.h"
#include "draw/scene_cameras.h"
#include "draw/scene_record.h"
#include "draw/scene_results.h"
#include "draw/text.h"

namespace ffkit {
namespace {

using namespace nuscenes;

constexpr Color kWhite = {255, 255, 255};
constexpr int kMargin = 10;
constexpr int kTextHeight = kText;

void draw_legend(Canvas& canvas, int right, int y, const std::vector<SeenBox>& boxes) {
  std::map<int64_t, int64_t> counts;
  for (const SeenBox& seen : boxes) ++counts[std::max<int64_t>(seen.class_number, -1)];
  for (auto count = counts.rbegin(); count != counts.rend(); ++count) {
    const std::string_view name = count->first < 0 ? "other" : kClasses.at(count->first);
    const std::string text = fmt::format("{} {}", count->second, name);
    right -= text_width(text, kText) + 2 * kMargin;
    draw_text(canvas, right, y, text, kText, color_of_class(count->first));
  }
}

// Which colour is what, at the top right.
void draw_results_legend(SceneView& view, double min_score) {
  int right = view.canvas.width();
  const auto add = [&](const std::string& text, Color color) {
    right -= text_width(text, kText) + 2 * kMargin;
    draw_text(view.canvas, right, kMargin, text, kText, color);
  };
  add(fmt::format("magenta: {} predicted with a score of {:g} or more", view.num_predictions,
                  min_score),
      kPredictionColor);
  add(fmt::format("green: {} annotated", view.num_boxes), kTruthColor);
}

std::string text_of(const Keyframe& record, const char* name) {
  return record.has(name) ? std::string(record.field(name).string()) : "";
}

}  // namespace

bool has_scenes(const Schema& schema) {
  return schema.index_of(channel_field(kLidar, channel::kPoints)) >= 0 &&
         schema.index_of(keyframe::kBoxGlobal) >= 0;
}

SceneView draw_scene(const Dataset& dataset, int64_t index, int camera_width,
                     const std::optional<SceneResults>& results) {
  // From left to right, as they look.
  constexpr std::array<const char*, 6> kPlaces = {"CAM_FRONT_LEFT", "CAM_FRONT", "CAM_FRONT_RIGHT",
                                                  "CAM_BACK_RIGHT", "CAM_BACK",  "CAM_BACK_LEFT"};
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
  const int row_height = camera_height + kTextHeight + kMargin;
  const int top = kTextHeight + 2 * kMargin;
  const int side = 2 * row_height - kTextHeight - kMargin;
  const int left_of_above = kMargin + 3 * (camera_width + kMargin);
  SceneView view{.canvas = Canvas(left_of_above + side + kMargin, top + 2 * row_height, kWhite),
                 .token = text_of(record, keyframe::kToken),
                 .scene = text_of(record, keyframe::kScene),
                 .num_boxes = num_truth,
                 .num_predictions = std::ssize(boxes) - num_truth};
  draw_text(view.canvas, kMargin, kMargin,
            fmt::format("{} #{}  {}  {}", view.scene, dataset.index_in_split(index), view.token,
                        text_of(record, keyframe::kLocation)),
            kText, kSceneBlack);
  if (results) {
    draw_results_legend(view, results->min_score);
  } else {
    draw_legend(view.canvas, view.canvas.width(), kMargin, boxes);
  }
  BoxCounts drawn;
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    const int column = static_cast<int>(i) % 3;
    const int row = static_cast<int>(i) / 3;
    const Rect place{kMargin + column * (camera_width + kMargin),
                     top + row * row_height + kTextHeight, camera_width, camera_height};
    const std::string problem = draw_camera(view.canvas, place, record, kPlaces[i], boxes, drawn);
    if (!problem.empty()) view.problems.push_back(fmt::format("{}: {}", kPlaces[i], problem));
  }
  view.num_boxes_drawn = drawn.truth;
  view.num_predictions_drawn = drawn.predictions;
  const std::vector<std::string> missing =
      draw_from_above(view.canvas, {left_of_above, top + kTextHeight, side, side}, record, boxes);
  view.problems.insert(view.problems.end(), missing.begin(), missing.end());
  return view;
}

}  // namespace ffkit
