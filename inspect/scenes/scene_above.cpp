#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/sweeps.h>

#include "draw/canvas.h"
#include "scenes/scene_view.h"

namespace ffkit {
namespace {

using namespace nuscenes;

constexpr Color kGridAbove = {205, 205, 205};
constexpr Color kOlderPoint = {190, 190, 190};
constexpr double kRange = 50;  // metres from the vehicle to the edge

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
  void line(const Vector3& a, const Vector3& b, Color color, bool is_dashed = false) {
    if (is_dashed) {
      canvas_.draw_dashed_line(place_, x(a), y(a), x(b), y(b), color);
    } else {
      canvas_.draw_line(place_, x(a), y(a), x(b), y(b), color);
    }
  }
  void arrow(const Vector3& a, const Vector3& b, Color color) {
    canvas_.draw_arrow(place_, x(a), y(a), x(b), y(b), color);
  }
  bool shows(const Vector3& at) const {
    return std::fabs(at[0]) <= kRange && std::fabs(at[1]) <= kRange;
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
    for (int step = 0; step < kSteps; ++step) line(at(step), at(step + 1), kGridAbove);
    const Vector3 top = at(0);
    draw_text(canvas_, static_cast<int>(x(top)) + 3, static_cast<int>(y(top)) + 3,
              fmt::format("{} m", metres), kSmallText, kSceneBlack);
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
  const TensorView points = record.field(channel_field(kLidar, channel::kPoints)).tensor();
  const int64_t count = points.shape.empty() ? 0 : points.shape[0];
  std::vector<float> moved(count * (kLidarColumns + 1));
  const int64_t num_rows = append_sweep(
      points,
      {.to_target = make_transform(record.pose(kLidar, channel::kSensorToEgo)), .min_distance = 0},
      kLidarColumns, count, moved.data());
  for (int64_t i = 0; i < num_rows; ++i) {
    const float* p = &moved[i * (kLidarColumns + 1)];
    const double distance = std::hypot(p[0], p[1]);
    if (std::isfinite(distance)) above.dot({p[0], p[1], 0}, 1, color_of_distance(distance));
  }
}

void draw_radar(FromAbove& above, const Keyframe& record, std::string_view radar) {
  const auto points = record.numbers<float>(channel_field(radar, channel::kPoints));
  // The radar's time differs from the lidar's by some hundredths of a second, which is not to be
  // seen here.
  const Transform to_ego = make_transform(record.pose(radar, channel::kSensorToEgo));
  for (size_t i = 0; i + kRadarColumns <= points.size(); i += kRadarColumns) {
    const float* p = &points[i];
    if (!keeps(RadarFilter(), p[kDynPropColumn], p[kAmbigStateColumn], p[kInvalidStateColumn])) {
      continue;
    }
    const Vector3 at = to_ego({p[0], p[1], p[2]});
    const Vector3 later = to_ego({p[0] + p[8], p[1] + p[9], p[2]});
    above.line(at, later, kSceneRed);
    above.line({at[0] - 0.7, at[1], 0}, {at[0] + 0.7, at[1], 0}, kSceneRed);
    above.line({at[0], at[1] - 0.7, 0}, {at[0], at[1] + 0.7, 0}, kSceneRed);
  }
}

constexpr int kSign = 44;  // pixels
constexpr const char* kDashes = "dashes: under 40 % visible, or after another box";

// Where the legend lies, at the bottom left; empty where there is no room for it.
Rect legend_above(const Rect& place) {
  constexpr int kHeight = 4 * kSmallText + 4;
  const int width = kSign + text_width(kDashes, kSmallText) + 12;
  if (width > place.width || kHeight > place.height) return {};
  return {place.x + 2, place.y + place.height - kHeight - 2, width, kHeight};
}

// What the signs mean.
void draw_legend_above(Canvas& canvas, const Rect& place) {
  const Rect legend = legend_above(place);
  if (legend.width == 0) return;
  const int left = legend.x;
  int y = legend.y;
  canvas.fill(legend, kWhite);
  const auto row = [&](const std::string& text) {
    draw_text(canvas, left + kSign + 8, y + 1, text, kSmallText, kSceneBlack);
    y += kSmallText;
  };
  const double middle = 8;
  for (int i = 0; i < kSign; ++i) {
    canvas.fill({left + 2 + i, y + 5, 1, 6}, color_of_distance(kRange * i / kSign));
  }
  row(fmt::format("lidar points, 0 to {:.0f} m away", kRange));
  canvas.draw_line(place, left + 6, y + middle, left + 14, y + middle, kSceneRed);
  canvas.draw_line(place, left + 10, y + middle - 4, left + 10, y + middle + 4, kSceneRed);
  canvas.draw_line(place, left + 10, y + middle, left + 40, y + middle, kSceneRed);
  row("radar points and their way in 1 s");
  canvas.draw_arrow(place, left + 4, y + middle, left + 40, y + middle, kSceneBlack);
  row("way of a box in 1 s");
  canvas.draw_dashed_line(place, left + 4, y + middle, left + 44, y + middle, kSceneBlack);
  row(kDashes);
}

void draw_boxes_above(Canvas& canvas, const Rect& place, FromAbove& above, const Keyframe& record,
                      const std::vector<SeenBox>& boxes) {
  struct Name {
    const SeenBox* seen;
    double distance;
    Vector3 front;
  };
  std::vector<Name> names;
  const Pose ego = record.pose(kLidar, channel::kEgoToGlobal);
  for (const SeenBox& seen : boxes) {
    const Box box = move_back(seen.box, ego);
    const auto points = corners(box);
    const Color color = seen.color;
    constexpr size_t kSides[][2] = {{2, 3}, {3, 7}, {7, 6}, {6, 2}};
    for (const auto& side : kSides) {
      above.line(points[side[0]], points[side[1]], color, seen.is_hidden);
    }
    const Vector3 front = {(points[2][0] + points[3][0]) / 2, (points[2][1] + points[3][1]) / 2, 0};
    above.line(box.center, front, color, seen.is_hidden);
    const double speed = std::hypot(box.velocity[0], box.velocity[1]);
    constexpr double kStands = 0.2;  // m/s
    if (speed > kStands) {           // false of NaN
      above.arrow(box.center, {box.center[0] + box.velocity[0], box.center[1] + box.velocity[1], 0},
                  color);
    }
    if (above.shows(front)) names.push_back({&seen, std::hypot(front[0], front[1]), front});
  }
  std::ranges::stable_sort(names, std::ranges::less(), &Name::distance);
  Labels labels(canvas, place, nullptr);
  labels.keep_free(legend_above(place));
  labels.keep_free({place.x + place.width / 2, place.y, place.width / 2, kSmallText + 2});  // count
  for (const Name& name : names) {
    const double right = above.x(name.front) + 5;
    const double left = above.x(name.front) - text_width(name.seen->name, kSmallText) - 5;
    const double beside = above.y(name.front) - 7;
    const double lower = beside + kSmallText;
    std::array<LabelPlace, 4> places = {
        {{right, beside}, {left, beside}, {right, lower}, {left, lower}}};
    if (name.seen->is_prediction) std::rotate(places.begin(), places.begin() + 2, places.end());
    labels.draw(places, name.seen->name, name.seen->color);
  }
  labels.draw_count(place.x + place.width / 2 + 24, place.x + place.width - 4, place.y + 2,
                    std::ssize(names));
}

}  // namespace

std::vector<std::string> draw_from_above(Canvas& canvas, const Rect& place, const Keyframe& record,
                                         const std::vector<SeenBox>& boxes,
                                         std::span<const Vector3> older_points) {
  FromAbove above(canvas, place);
  for (const Vector3& point : older_points) above.dot(point, 1, kOlderPoint);
  std::vector<std::string> problems;
  // `draw` of a channel's points; what is wrong with them is noted.
  const auto with_points = [&](std::string_view name, const auto& draw) {
    try {
      if (!record.has(channel_field(name, channel::kPoints))) {
        throw Error(ErrorCode::not_found, "no points: the data set was converted without them");
      }
      draw();
    } catch (const Error& error) {
      problems.push_back(fmt::format("{}: {}", name, error.text(OptionStyle::command_line)));
    }
  };
  with_points(kLidar, [&] { draw_lidar(above, record); });
  draw_boxes_above(canvas, place, above, record, boxes);
  for (const std::string_view radar : kRadars) {
    // Radars that nobody asked for are not missing.
    if (record.knows(channel_field(radar, channel::kPoints))) {
      with_points(radar, [&] { draw_radar(above, record, radar); });
    }
  }
  above.line({-1, 0, 0}, {3, 0, 0}, kSceneBlack);  // the vehicle, from its rear axle
  above.line({0, -0.9, 0}, {0, 0.9, 0}, kSceneBlack);
  draw_legend_above(canvas, place);
  int y = place.y + 4;
  for (const std::string& problem : problems) {
    for (const std::string& line : wrap_text(problem, place.width - 8, kSmallText, 3)) {
      draw_text(canvas, place.x + 4, y, line, kSmallText, kSceneRed);
      y += kSmallText;
    }
  }
  return problems;
}

}  // namespace ffkit
