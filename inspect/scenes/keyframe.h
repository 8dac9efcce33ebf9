// What scene views show of a nuScenes keyframe: its fields by name, and boxes, of its annotations
// and of a results file, in their colours.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/nuscenes/detection.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "draw/canvas.h"

namespace ffkit {

// Whether the records of `schema` are nuScenes keyframes.
bool has_scenes(const Schema& schema);

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

// Of a class, -1 for none.
Color color_of_class(int64_t class_number);

// Detections to draw beside the annotations.
struct SceneResults {
  std::filesystem::path file;  // in the official format, see ffkit/nuscenes/detection.h
  double min_score = 0.3;      // of those that are drawn
};

// Those of the sample `token` with at least results.min_score, named by class and score. Reads the
// whole file. Throws what read_submission() throws, and Error(not_found) when the file lacks the
// sample.
std::vector<SeenBox> read_predictions(const SceneResults& results, const std::string& token);

// The detections of a sample with at least `min_score`, likewise.
std::vector<SeenBox> seen_boxes(const nuscenes::SampleDetections& sample, double min_score);

}  // namespace ffkit
