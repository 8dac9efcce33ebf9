// Scene views: one nuScenes keyframe as a picture.
//
//   | scene-0061  token ...  singapore-onenorth                  classes |
//   | [CAM_FRONT_LEFT] [CAM_FRONT] [CAM_FRONT_RIGHT]  |                  |
//   | [CAM_BACK_LEFT ] [CAM_BACK ] [CAM_BACK_RIGHT ]  |  from above      |
//
// scene_cameras.h and scene_above.h say what is drawn.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

#include "draw/canvas.h"

namespace ffkit {

// Whether the records of `schema` are nuScenes keyframes.
bool has_scenes(const Schema& schema);

struct SceneView {
  Canvas canvas;
  std::string token;
  std::string scene;
  int64_t num_boxes = 0;
  int64_t num_boxes_drawn = 0;  // into cameras, a box once for each
  int64_t num_predictions = 0;  // with the score asked for, and likewise
  int64_t num_predictions_drawn = 0;
  std::vector<std::string> problems;  // why a picture or a cloud is missing
};

// Detections to draw beside the annotations.
struct SceneResults {
  std::filesystem::path file;  // in the official format, see ffkit/nuscenes/detection.h
  double min_score = 0.3;      // of those that are drawn
};

// `camera_width` in pixels, 160 .. 1600. With results, annotations are green and detections
// magenta, named by class and score; without, boxes have the colours of their classes. Throws what
// Dataset::read and read_submission() throw, Error(corrupt) for records that are not as they should
// be, and Error(not_found) for results without the keyframe.
SceneView draw_scene(const Dataset& dataset, int64_t index, int camera_width,
                     const std::optional<SceneResults>& results = {});

}  // namespace ffkit
