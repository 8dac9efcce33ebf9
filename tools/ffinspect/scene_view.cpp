#include "scene_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include <ffkit/format/error.h>
#include <ffkit/format/record.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

#include "font.h"

namespace ffkit {
namespace {

using namespace nuscenes;

constexpr Color kWhite = {255, 255, 255};
constexpr Color kBlack = {20, 20, 20};
constexpr Color kGrid = {205, 205, 205};
constexpr Color kRed = {200, 30, 30};
constexpr Color kOther = {150, 70, 190};
constexpr int kMargin = 10;
constexpr int kTextHeight = kLineHeight * 2;
constexpr double kRange = 50;  // metres from the vehicle to the edge of the view from above

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

Color color_of(int64_t class_number) {
  if (class_number < 0 || class_number >= std::ssize(kClasses)) return kOther;
  return kClassColors[static_cast<size_t>(class_number)];
}

// A keyframe's fields by name.
class Keyframe {
 public:
  Keyframe(const Schema& schema, std::span<const std::byte> bytes)
      : schema_(schema), view_(schema, bytes) {}

  bool has(const std::string& name) const {
    const int at = schema_.index_of(name);
    return at >= 0 && !view_.is_null(static_cast<size_t>(at));
  }
  FieldView field(const std::string& name) const { return view_.field(schema_.require(name)); }
  template <typename T>
  std::vector<T> numbers(const std::string& name) const {
    const TensorView tensor = field(name).tensor();
    if (tensor.dtype != dtype_of<T>()) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' is of {}", name, to_string(tensor.dtype)));
    }
    std::vector<T> values(tensor.data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }
  Pose pose(std::string_view channel, const char* name) const {
    return make_pose(numbers<double>(channel_field(channel, name)));
  }

 private:
  const Schema& schema_;
  RecordView view_;
};

struct SeenBox {
  Box box;  // in the global frame
  int64_t class_number = -1;
};

std::vector<SeenBox> read_boxes(const Keyframe& record) {
  std::vector<SeenBox> boxes;
  if (!record.has(keyframe::kBoxGlobal)) return boxes;
  const auto numbers = record.numbers<double>(keyframe::kBoxGlobal);
  const auto classes = record.numbers<int64_t>(keyframe::kBoxClass);
  if (numbers.size() != classes.size() * 10) {
    throw Error(ErrorCode::corrupt, "there are not as many boxes as classes of boxes");
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    const double* n = &numbers[i * 10];
    boxes.push_back({{.center = {n[0], n[1], n[2]},
                      .size = {n[3], n[4], n[5]},
                      .rotation = {n[6], n[7], n[8], n[9]}},
                     classes[i]});
  }
  return boxes;
}

void draw_box(Canvas& canvas, const Rect& within, const std::array<Projection, 8>& at,
              Color color) {
  const auto line = [&](size_t a, size_t b) {
    canvas.draw_line(within, at[a].x, at[a].y, at[b].x, at[b].y, color);
  };
  for (size_t i = 0; i < 4; ++i) {
    line(i, i + 4);
    line(i, (i + 1) % 4);
    line(4 + i, 4 + (i + 1) % 4);
  }
  line(0, 2);
  line(1, 3);
}

void draw_boxes(Canvas& canvas, const Rect& place, const Keyframe& record, const std::string& name,
                const ImageInfo& info, const std::vector<SeenBox>& boxes, SceneView& view) {
  const auto numbers = record.numbers<double>(channel_field(name, channel::kIntrinsics));
  if (numbers.size() != 9) throw Error(ErrorCode::corrupt, "the intrinsics are not 3 x 3");
  Matrix3 intrinsics{};
  std::copy(numbers.begin(), numbers.end(), intrinsics.begin());
  const Pose ego = record.pose(name, channel::kEgoToGlobal);
  const Pose camera = record.pose(name, channel::kSensorToEgo);
  for (const SeenBox& seen : boxes) {
    const auto points = corners(move_back(move_back(seen.box, ego), camera));
    if (!is_visible(points, intrinsics, info.width, info.height)) continue;
    std::array<Projection, 8> at{};
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = project(intrinsics, points[i]);
      at[i].x = place.x + at[i].x * place.width / info.width;
      at[i].y = place.y + at[i].y * place.height / info.height;
    }
    draw_box(canvas, place, at, color_of(seen.class_number));
    ++view.num_boxes_drawn;
  }
}

void draw_camera(Canvas& canvas, const Rect& place, const Keyframe& record, const std::string& name,
                 const std::vector<SeenBox>& boxes, SceneView& view) {
  draw_text(canvas, place.x, place.y - kTextHeight + 2, name, 2, kBlack);
  const std::string image = channel_field(name, channel::kImage);
  try {
    if (!record.has(image)) throw Error(ErrorCode::not_found, "there is no image");
    const auto bytes = record.field(image).bytes();
    ImageDecoder decoder;
    const ImageInfo info = decoder.read_info(bytes);
    canvas.draw_picture(
        decoder.decode_region(bytes, {0, 0, info.width, info.height}, place.width, place.height),
        place);
    draw_boxes(canvas, place, record, name, info, boxes, view);
  } catch (const Error& error) {
    canvas.draw_crossed_box(place, kRed);
    view.problems.push_back(fmt::format("{}: {}", name, error.what()));
  }
}

// The view from above, in the vehicle's frame at the lidar's time.
class FromAbove {
 public:
  FromAbove(Canvas& canvas, const Rect& place) : canvas_(canvas), place_(place) {
    canvas_.fill(place, {250, 250, 250});
    for (int metres = 10; metres <= 50; metres += 20) draw_ring(metres);
  }
  double x(const Vector3& p) const { return place_.x + place_.width * (0.5 - p[1] / (2 * kRange)); }
  double y(const Vector3& p) const {
    return place_.y + place_.height * (0.5 - p[0] / (2 * kRange));
  }
  void line(const Vector3& a, const Vector3& b, Color color) {
    canvas_.draw_line(place_, x(a), y(a), x(b), y(b), color);
  }
  void dot(const Vector3& p, int size, Color color) {
    const double u = x(p);
    const double v = y(p);
    if (!(u >= place_.x && u + size <= place_.x + place_.width && v >= place_.y &&
          v + size <= place_.y + place_.height)) {
      return;
    }
    canvas_.fill({static_cast<int>(u), static_cast<int>(v), size, size}, color);
  }

 private:
  void draw_ring(int metres) {
    constexpr int kSteps = 90;
    const auto at = [&](int step) {
      const double angle = step * 2 * 3.14159265358979 / kSteps;
      return Vector3{metres * std::cos(angle), metres * std::sin(angle), 0};
    };
    for (int step = 0; step < kSteps; ++step) line(at(step), at(step + 1), kGrid);
    const Vector3 top = at(0);
    draw_text(canvas_, static_cast<int>(x(top)) + 3, static_cast<int>(y(top)) + 3,
              fmt::format("{} m", metres), 1, kBlack);
  }

  Canvas& canvas_;
  Rect place_;
};

// Near points violet, far ones green and yellow.
Color color_of_distance(double metres) {
  const double t = std::clamp(metres / kRange, 0.0, 1.0);
  const auto mix = [t](double a, double b, double c) {
    const double value = t < 0.5 ? a + (b - a) * 2 * t : b + (c - b) * (2 * t - 1);
    return static_cast<uint8_t>(value);
  };
  return {mix(70, 33, 190), mix(10, 145, 205), mix(100, 140, 40)};
}

void draw_lidar(FromAbove& above, const Keyframe& record) {
  const std::string name = channel_field(kLidar, channel::kPoints);
  if (!record.has(name)) return;
  const TensorView points = record.field(name).tensor();
  const int64_t count = points.shape.empty() ? 0 : points.shape[0];
  std::vector<float> moved(static_cast<size_t>(count * (kLidarColumns + 1)));
  const int64_t num_rows = append_sweep(
      points,
      {.to_target = make_transform(record.pose(kLidar, channel::kSensorToEgo)), .min_distance = 0},
      kLidarColumns, count, moved.data());
  for (int64_t i = 0; i < num_rows; ++i) {
    const float* p = &moved[static_cast<size_t>(i * (kLidarColumns + 1))];
    const double distance = std::hypot(p[0], p[1]);
    if (std::isfinite(distance)) above.dot({p[0], p[1], 0}, 1, color_of_distance(distance));
  }
}

// As the devkit's default filters: a valid cluster, not dynamic property 7, an unambiguous velocity.
bool is_kept(const float* point) {
  constexpr size_t kDynProp = 3;
  constexpr size_t kAmbigState = 11;
  constexpr size_t kInvalidState = 14;
  return point[kInvalidState] == 0 && point[kDynProp] < 7 && point[kAmbigState] == 3;
}

void draw_radars(FromAbove& above, const Keyframe& record) {
  for (const std::string_view radar : kRadars) {
    const std::string name = channel_field(radar, channel::kPoints);
    if (!record.has(name)) continue;
    const auto points = record.numbers<float>(name);
    // The radar's time differs from the lidar's by some hundredths of a second, which is not to be seen here.
    const Transform to_ego = make_transform(record.pose(radar, channel::kSensorToEgo));
    for (size_t i = 0; i + kRadarColumns <= points.size(); i += kRadarColumns) {
      const float* p = &points[i];
      if (!is_kept(p)) continue;
      const Vector3 at = to_ego({p[0], p[1], p[2]});
      const Vector3 later = to_ego({p[0] + p[8], p[1] + p[9], p[2]});
      above.line(at, later, kRed);
      above.line({at[0] - 0.7, at[1], 0}, {at[0] + 0.7, at[1], 0}, kRed);
      above.line({at[0], at[1] - 0.7, 0}, {at[0], at[1] + 0.7, 0}, kRed);
    }
  }
}

void draw_boxes(FromAbove& above, const Keyframe& record, const std::vector<SeenBox>& boxes) {
  const Pose ego = record.pose(kLidar, channel::kEgoToGlobal);
  for (const SeenBox& seen : boxes) {
    const Box box = move_back(seen.box, ego);
    const auto points = corners(box);
    const Color color = color_of(seen.class_number);
    above.line(points[2], points[3], color);
    above.line(points[3], points[7], color);
    above.line(points[7], points[6], color);
    above.line(points[6], points[2], color);
    const Vector3 front = {(points[2][0] + points[3][0]) / 2, (points[2][1] + points[3][1]) / 2, 0};
    above.line(box.center, front, color);
  }
}

void draw_legend(Canvas& canvas, int right, int y, const std::vector<SeenBox>& boxes) {
  std::map<int64_t, int64_t> counts;
  for (const SeenBox& seen : boxes) ++counts[std::max<int64_t>(seen.class_number, -1)];
  for (auto count = counts.rbegin(); count != counts.rend(); ++count) {
    const std::string_view name =
        count->first < 0 ? "other" : kClasses.at(static_cast<size_t>(count->first));
    const std::string text = fmt::format("{} {}", count->second, name);
    right -= text_width(text, 2) + 2 * kMargin;
    draw_text(canvas, right, y, text, 2, color_of(count->first));
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
  const Keyframe record(dataset.schema(), bytes);
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
            2, kBlack);
  draw_legend(view.canvas, view.canvas.width(), kMargin, boxes);
  for (size_t i = 0; i < kPlaces.size(); ++i) {
    const int column = static_cast<int>(i) % 3;
    const int row = static_cast<int>(i) / 3;
    const Rect place{kMargin + column * (camera_width + kMargin),
                     top + row * row_height + kTextHeight, camera_width, camera_height};
    draw_camera(view.canvas, place, record, kPlaces[i], boxes, view);
  }
  FromAbove above(view.canvas, {left_of_above, top + kTextHeight, side, side});
  draw_lidar(above, record);
  draw_boxes(above, record, boxes);
  draw_radars(above, record);
  above.line({-1, 0, 0}, {3, 0, 0}, kBlack);  // the vehicle, from its rear axle
  above.line({0, -0.9, 0}, {0, 0.9, 0}, kBlack);
  return view;
}

}  // namespace ffkit
