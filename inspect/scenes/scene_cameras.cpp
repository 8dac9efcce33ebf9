#include <algorithm>
#include <array>

#include "draw/canvas.h"
#include "scenes/scene_view.h"

namespace ffkit {
namespace {

using namespace nuscenes;

constexpr int kReasonMargin = 10;

// A box as a camera sees it.
struct Drawn {
  const SeenBox* seen = nullptr;
  std::array<Projection, 8> corners{};
  double depth = 0;  // of the centre, metres
  bool has_arrow = false;
  Projection center, later;                         // and where it is in a second
  double left = 0, top = 0, right = 0, bottom = 0;  // around the corners, within the picture
};

class Camera {
 public:
  Camera(const Keyframe& record, const std::string& name, const ImageInfo& info, const Rect& place)
      : info_(info),
        place_(place),
        ego_(record.pose(name, channel::kEgoToGlobal)),
        camera_(record.pose(name, channel::kSensorToEgo)) {
    const auto numbers = record.numbers<double>(channel_field(name, channel::kIntrinsics));
    if (numbers.size() != 9) throw Error(ErrorCode::corrupt, "the intrinsics are not 3 x 3");
    std::copy(numbers.begin(), numbers.end(), intrinsics_.begin());
  }

  // Whether any of it is seen.
  bool project_box(const SeenBox& seen, Drawn& drawn) const {
    const Box box = move_back(move_back(seen.box, ego_), camera_);
    const auto points = corners(box);
    if (!is_visible(points, intrinsics_, info_.width, info_.height)) return false;
    drawn.seen = &seen;
    drawn.depth = box.center[2];
    drawn.left = drawn.top = 1e9;
    drawn.right = drawn.bottom = -1e9;
    for (size_t i = 0; i < points.size(); ++i) {
      drawn.corners[i] = on_canvas(points[i]);
      drawn.left = std::min(drawn.left, drawn.corners[i].x);
      drawn.right = std::max(drawn.right, drawn.corners[i].x);
      drawn.top = std::min(drawn.top, drawn.corners[i].y);
      drawn.bottom = std::max(drawn.bottom, drawn.corners[i].y);
    }
    drawn.left = std::max<double>(drawn.left, place_.x);
    drawn.right = std::min<double>(drawn.right, place_.x + place_.width);
    drawn.top = std::max<double>(drawn.top, place_.y);
    drawn.bottom = std::min<double>(drawn.bottom, place_.y + place_.height);
    const Vector3 later = {box.center[0] + box.velocity[0], box.center[1] + box.velocity[1],
                           box.center[2] + box.velocity[2]};
    drawn.has_arrow = box.center[2] > 0.1 && later[2] > 0.1;  // false of NaN
    drawn.center = on_canvas(box.center);
    drawn.later = on_canvas(later);
    return true;
  }

 private:
  Projection on_canvas(const Vector3& point) const {
    Projection at = project(intrinsics_, point);
    at.x = place_.x + at.x * place_.width / info_.width;
    at.y = place_.y + at.y * place_.height / info_.height;
    return at;
  }

  const ImageInfo info_;
  const Rect place_;
  const Pose ego_;
  const Pose camera_;
  Matrix3 intrinsics_{};
};

// Whether the nearer box covers most of the other one. A prediction covers no annotation, nor the
// other way round: they are of one thing.
bool covers(const Drawn& near, const Drawn& far) {
  if (near.depth >= far.depth || near.seen->is_prediction != far.seen->is_prediction) return false;
  const double width = std::min(near.right, far.right) - std::max(near.left, far.left);
  const double height = std::min(near.bottom, far.bottom) - std::max(near.top, far.top);
  constexpr double kMost = 0.6;
  return width > 0 && height > 0 &&
         width * height > kMost * (far.right - far.left) * (far.bottom - far.top);
}

void draw(Canvas& canvas, const Rect& within, const Drawn& drawn, bool is_dashed) {
  const Color color = drawn.seen->color;
  const auto& at = drawn.corners;
  const auto line = [&](size_t a, size_t b) {
    if (is_dashed) {
      canvas.draw_dashed_line(within, at[a].x, at[a].y, at[b].x, at[b].y, color);
    } else {
      canvas.draw_line(within, at[a].x, at[a].y, at[b].x, at[b].y, color);
    }
  };
  for (size_t i = 0; i < 4; ++i) {
    line(i, i + 4);
    line(i, (i + 1) % 4);
    line(4 + i, 4 + (i + 1) % 4);
  }
  line(0, 2);
  line(1, 3);
  if (drawn.has_arrow) {
    canvas.draw_arrow(within, drawn.center.x, drawn.center.y, drawn.later.x, drawn.later.y, color);
  }
}

void draw_camera_boxes(Canvas& canvas, const Rect& place, const Camera& camera, int title_end,
                       const std::vector<SeenBox>& boxes, BoxCounts& counts) {
  std::vector<Drawn> seen;
  for (const SeenBox& box : boxes) {
    Drawn drawn;
    if (camera.project_box(box, drawn)) seen.push_back(drawn);
  }
  for (const Drawn& box : seen) ++(box.seen->is_prediction ? counts.predictions : counts.truth);
  std::ranges::stable_sort(seen, std::ranges::greater(), &Drawn::depth);
  std::vector<bool> is_covered;
  for (const Drawn& box : seen) {
    const bool is_behind =
        std::ranges::any_of(seen, [&](const Drawn& other) { return covers(other, box); });
    is_covered.push_back(is_behind);
    draw(canvas, place, box, box.seen->is_hidden || is_behind);
  }
  // Names last, so that no box is drawn over them, near ones first; those of boxes that are hidden
  // or small would hide others.
  Labels labels(canvas, place, &kWhite);
  for (size_t i = seen.size(); i-- > 0;) {
    const Drawn& box = seen[i];
    constexpr double kSmall = 14;  // pixels
    if (is_covered[i] || box.seen->is_hidden || box.right - box.left < kSmall) continue;
    const double above = box.top - kSmallText;
    const double right = box.right - text_width(box.seen->name, kSmallText);
    std::array<LabelPlace, 4> places = {
        {{box.left, above}, {right, above}, {box.left, box.bottom}, {right, box.bottom}}};
    if (box.seen->is_prediction) std::rotate(places.begin(), places.begin() + 2, places.end());
    labels.draw(places, box.seen->name, box.seen->color);
  }
  labels.draw_count(title_end, place.x + place.width, place.y - kSmallText, std::ssize(seen));
}

}  // namespace

std::string draw_camera(Canvas& canvas, const Rect& place, const Keyframe& record,
                        const std::string& name, const std::vector<SeenBox>& boxes,
                        BoxCounts& counts) {
  draw_text(canvas, place.x, place.y - kText, name, kText, kSceneBlack);
  const std::string image = channel_field(name, channel::kImage);
  try {
    if (!record.has(image)) {
      throw Error(ErrorCode::not_found, "no picture: the data set was converted without it");
    }
    const auto bytes = record.field(image).bytes();
    ImageDecoder decoder;
    const ImageInfo info = decoder.read_info(bytes);
    canvas.draw_picture(
        decoder.read_region({0, 0, info.width, info.height}, place.width, place.height), place);
    draw_camera_boxes(canvas, place, {record, name, info, place},
                      place.x + text_width(name, kText) + 8, boxes, counts);
    return "";
  } catch (const Error& error) {
    canvas.draw_crossed_box(place, kSceneRed);
    int y = place.y + kReasonMargin;
    for (const std::string& line : wrap_text(error.text(OptionStyle::command_line),
                                             place.width - 2 * kReasonMargin, kText, 6)) {
      draw_text(canvas, place.x + kReasonMargin, y, line, kText, kSceneRed);
      y += kText;
    }
    return error.text(OptionStyle::command_line);
  }
}

}  // namespace ffkit
