// Scene views: one nuScenes keyframe as a picture.
//
//   | scene-0061  token ...  singapore-onenorth                  classes |
//   | [CAM_FRONT_LEFT] [CAM_FRONT] [CAM_FRONT_RIGHT]  |                  |
//   | [CAM_BACK_LEFT ] [CAM_BACK ] [CAM_BACK_RIGHT ]  |  from above      |
//
// draw_camera() and draw_from_above() draw the parts.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/nuscenes/detection.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "draw/canvas.h"

namespace ffkit {

// What scene views show of a nuScenes keyframe: its fields by name, and boxes, of its annotations
// and of a results file, in their colours.

// A keyframe's fields by name.
class Keyframe {
 public:
  Keyframe(const Schema& schema, std::span<const std::byte> bytes, RecordName name)
      : schema_(schema), view_(schema, bytes, name) {}

  // Whether records have such a field, which may be null in this one.
  bool knows(const std::string& name) const { return schema_.index_of(name) >= 0; }
  bool has(const std::string& name) const {
    const int at = schema_.index_of(name);
    return at >= 0 && !view_.is_null(at);
  }
  FieldView field(const std::string& name) const { return view_.field(schema_.require(name)); }
  template <typename T>
  std::vector<T> numbers(const std::string& name) const {
    const TensorView tensor = field(name).tensor();
    if (tensor.dtype != dtype_of<T>()) {
      throw error_of(ErrorCode::corrupt, "field '{}' is of {}", name, to_string(tensor.dtype));
    }
    std::vector<T> values(tensor.data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }
  nuscenes::Pose pose(std::string_view channel, const char* name) const {
    return nuscenes::make_pose(numbers<double>(nuscenes::channel_field(channel, name)));
  }

 private:
  const Schema& schema_;
  RecordView view_;
};

struct SeenBox {
  nuscenes::Box box;  // in the global frame; its velocity is NaN where it is unknown
  int64_t class_number = -1;
  std::string name;        // of the class, or the end of the category's
  bool is_hidden = false;  // less than 40 % of it can be seen, by the annotators
  bool is_prediction = false;
  Color color = {};
};

// The annotations, in the colours of their classes. Throws Error(corrupt) for fields that do not go
// together.
std::vector<SeenBox> read_boxes(const Keyframe& record);

// Detections to draw beside the annotations.
struct SceneResults {
  std::filesystem::path file;  // in the official format, see ffkit/nuscenes/detection.h
  double min_score = 0.3;      // of those that are drawn
};

// The detections of a sample with at least `min_score`, named by class and score.
std::vector<SeenBox> seen_boxes(const nuscenes::SampleDetections& sample, double min_score);

inline constexpr Color kSceneBlack = {20, 20, 20};
inline constexpr Color kSceneRed = {200, 30, 30};

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

// `camera_width` in pixels, 160 .. 1600. With results, annotations are green and detections
// magenta, named by class and score; without, boxes have the colours of their classes. Throws what
// Dataset::read and read_submission() throw, Error(corrupt) for records that are not as they should
// be, and Error(not_found) for results without the keyframe.
SceneView draw_scene(const Dataset& dataset, int64_t index, int camera_width,
                     const std::optional<SceneResults>& results = {});

struct BoxCounts {
  int64_t truth = 0;
  int64_t predictions = 0;
};

// Draws the camera's picture to `place`, its name above. Boxes of which some corner is seen are
// drawn into it, those far away first: the front face with a cross, the name where it covers no
// other one (the number of those without is above the picture), an arrow to where it is in one
// second; with dashes where less than 40 % can be seen or where it is behind another one of its
// kind. The name of a prediction stands below it. Adds the numbers of boxes to `counts`. Where the
// picture is missing or damaged there is a crossed box with the reason, which is returned; ""
// otherwise.
std::string draw_camera(Canvas& canvas, const Rect& place, const Keyframe& record,
                        const std::string& name, const std::vector<SeenBox>& boxes,
                        BoxCounts& counts);

// Draws the keyframe from above to `place`, a square of 100 m in the vehicle's frame at the lidar's
// time, in which the vehicle looks up, with a legend: lidar points coloured by distance; of the
// radars crosses with their velocity, of the points that the devkit keeps by default; boxes with
// heading, a name where it covers no other one (those without are counted), and an arrow to where
// they are in one second, with dashes where less than 40 % can be seen. Returns what is missing,
// which is written there too.
// `older_points`: lidar points of frames before, drawn below, x y z in the vehicle's frame at the
// keyframe's time.
std::vector<std::string> draw_from_above(Canvas& canvas, const Rect& place, const Keyframe& record,
                                         const std::vector<SeenBox>& boxes,
                                         std::span<const nuscenes::Vector3> older_points = {});

}  // namespace ffkit
