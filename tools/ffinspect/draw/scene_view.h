// Scene views: one nuScenes keyframe as a picture.
//
//   | scene-0061  token ...  singapore-onenorth                  classes |
//   | [CAM_FRONT_LEFT] [CAM_FRONT] [CAM_FRONT_RIGHT]  |                  |
//   | [CAM_BACK_LEFT ] [CAM_BACK ] [CAM_BACK_RIGHT ]  |  from above      |
//
// scene_cameras.h and scene_above.h say what is drawn.
#pragma once

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
  int64_t num_boxes_drawn = 0;        // into cameras, a box once for each
  std::vector<std::string> problems;  // why a picture or a cloud is missing
};

// `camera_width` in pixels, 160 .. 1600. Throws what Dataset::read throws, and Error(corrupt) for records that are not as they should be.
SceneView draw_scene(const Dataset& dataset, int64_t index, int camera_width);

}  // namespace ffkit
