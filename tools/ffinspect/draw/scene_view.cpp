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
    const std::string_view name =
        count->first < 0 ? "other" : kClasses.at(static_cast<size_t>(count->first));
    const std::string text = fmt::format("{} {}", count->second, name);
    right -= text_width(text, kText) + 2 * kMargin;
    draw_text(canvas, right, y, text, kText, color_of_class(count->first));
  }
}

std::string text_of(const Keyframe& record, const char* name) {
  return record.has(name) ? std::string(record.field(name).string()) : "";
}

}  // namespace

bool has_scenes(const Schema& schema) {
  return schema.index_of(channel_field(kLidar, channel::kPoints)) >= 0 &&
         schema.index_of(keyframe::kBoxGlobal) >= 0;
}

SceneView draw_scene(const Dataset& dataset, int64_t index, int camera_width) {
  // From left to right, as they look.
  constexpr std::array<const char*, 6> kPlaces = {"CAM_FRONT_LEFT", "CAM_FRONT", "CAM_FRONT_RIGHT",
                                                  "CAM_BACK_RIGHT", "CAM_BACK",  "CAM_BACK_LEFT"};
  std::vector<std::byte> bytes;
  dataset.read(index, bytes);
  const Keyframe record(dataset.schema(), bytes, dataset.name(index));
  const std::vector<SeenBox> boxes = read_boxes(record);
  const int camera_height = camera_width * 9 / 16;
  const int row_height = camera_height + kTextHeight + kMargin;
  const int top = kTextHeight + 2 * kMargin;
  const int side = 2 * row_height - kTextHeight - kMargin;
  const int left_of_above = kMargin + 3 * (camera_width + kMargin);
  SceneView view{.canvas = Canvas(left_of_above + side + kMargin, top + 2 * row_height, kWhite),
                 .token = text_of(record, keyframe::kToken),
                 .scene = text_of(record, keyframe::kScene),
                 .num_boxes = std::ssize(boxes)};
  draw_text(view.canvas, kMargin, kMargin,
            fmt::format("{} #{}  {}  {}", view.scene, dataset.index_in_split(index), view.token,
                        text_of(record, keyframe::kLocation)),
            kText, kSceneBlack);
  draw_legend(view.canvas, view.canvas.width(), kMargin, boxes);
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    const int column = static_cast<int>(i) % 3;
    const int row = static_cast<int>(i) / 3;
    const Rect place{kMargin + column * (camera_width + kMargin),
                     top + row * row_height + kTextHeight, camera_width, camera_height};
    const std::string problem =
        draw_camera(view.canvas, place, record, kPlaces[i], boxes, view.num_boxes_drawn);
    if (!problem.empty()) view.problems.push_back(fmt::format("{}: {}", kPlaces[i], problem));
  }
  const std::vector<std::string> missing =
      draw_from_above(view.canvas, {left_of_above, top + kTextHeight, side, side}, record, boxes);
  view.problems.insert(view.problems.end(), missing.begin(), missing.end());
  return view;
}

}  // namespace ffkit
