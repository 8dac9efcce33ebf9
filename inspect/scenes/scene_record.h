// What scene views show of a nuScenes keyframe: its fields by name, its boxes, and their colours.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "draw/canvas.h"

namespace ffkit {

inline constexpr Color kSceneBlack = {20, 20, 20};
inline constexpr Color kSceneRed = {200, 30, 30};

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

struct BoxCounts {
  int64_t truth = 0;
  int64_t predictions = 0;
};

// The annotations, in the colours of their classes. Throws Error(corrupt) for fields that do not go
// together.
std::vector<SeenBox> read_boxes(const Keyframe& record);

// Of a class, -1 for none.
Color color_of_class(int64_t class_number);

// A line of dashes; otherwise as Canvas::draw_line().
void draw_dashed_line(Canvas& canvas, const Rect& within, double x0, double y0, double x1,
                      double y1, Color color);
// A line with a head at its second end.
void draw_arrow(Canvas& canvas, const Rect& within, double x0, double y0, double x1, double y1,
                Color color);

}  // namespace ffkit
