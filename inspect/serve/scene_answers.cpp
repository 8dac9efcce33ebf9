#include <algorithm>

#include <nlohmann/json.hpp>

#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/sweeps.h>

#include "base/make_error.h"
#include "scenes/scene_view.h"
#include "serve/site.h"

namespace ffkit::serve {
namespace {

using namespace nuscenes;

// The split of the request, where its records are keyframes.
const ServedSplit& scene_split(const SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  if (split.kind() != "scenes") {
    throw error_of(ErrorCode::invalid_argument, "the records of the split '{}' are not keyframes",
                   split.name());
  }
  return split;
}

// The cameras that records have, from left to right as they look.
std::vector<std::string> cameras_of(const Schema& schema) {
  std::vector<std::string> names;
  for (const char* name : {"CAM_FRONT_LEFT", "CAM_FRONT", "CAM_FRONT_RIGHT", "CAM_BACK_LEFT",
                           "CAM_BACK", "CAM_BACK_RIGHT"}) {
    if (schema.index_of(channel_field(name, channel::kImage)) >= 0) names.emplace_back(name);
  }
  return names;
}

// One keyframe, with the bytes that it is read from.
struct LoadedKeyframe {
  LoadedKeyframe(const ServedSplit& split, int64_t number)
      : bytes(read(split.whole(), number)),
        record(split.schema(), bytes, split.whole().name(number)) {}
  static std::vector<std::byte> read(const Dataset& dataset, int64_t number) {
    std::vector<std::byte> out;
    dataset.read(number, out);
    return out;
  }
  std::vector<std::byte> bytes;
  Keyframe record;
};

// The boxes that the request asks for: annotations, and what was found.
std::vector<SeenBox> wanted_boxes(const ServedSplit& split, int64_t number, const Keyframe& record,
                                  const http::Request& request) {
  std::vector<SeenBox> boxes;
  const bool has_results = request.flag("results") && split.findings != nullptr;
  if (request.number("boxes", 1, 0, 1) == 1) boxes = read_boxes(record);
  if (!has_results) return boxes;
  for (SeenBox& box : boxes) box.color = kTruthColor;
  const std::vector<SeenBox> found = split.findings->scene_boxes(number);
  boxes.insert(boxes.end(), found.begin(), found.end());
  return boxes;
}

// Where the points of a frame of the lidar are in the global frame.
Transform lidar_to_global(const Keyframe& frame, std::string_view sensor) {
  const auto field = [&](const char* name) {
    return sensor.empty() ? std::string(name) : channel_field(sensor, name);
  };
  const Transform to_ego =
      make_transform(make_pose(frame.numbers<double>(field(channel::kSensorToEgo))));
  const Transform to_global =
      make_transform(make_pose(frame.numbers<double>(field(channel::kEgoToGlobal))));
  return to_global * to_ego;
}

// The lidar points of the `count` frames before the keyframe, in its vehicle's frame.
std::vector<Vector3> older_points(const SiteState& state, const ServedSplit& split,
                                  const Keyframe& record, int64_t count) {
  const std::string listed = channel_field(kLidar, channel::kSweeps);
  if (!record.has(listed)) {
    throw error_of(ErrorCode::not_found, "the keyframes of '{}' have no lidar sweeps",
                   split.name());
  }
  const auto numbers = record.numbers<int64_t>(listed);
  const auto sweeps =
      std::ranges::find(state.set.splits, sweeps_split(split.name()), &ServedSplit::name);
  const Transform to_vehicle = inverse(make_transform(record.pose(kLidar, channel::kEgoToGlobal)));
  std::vector<Vector3> points;
  for (size_t i = 0; i + 2 <= numbers.size() && static_cast<int64_t>(i / 2) < count; i += 2) {
    const bool is_sweep = numbers[i] == 1;
    if (is_sweep && sweeps == state.set.splits.end()) {
      throw error_of(ErrorCode::not_found,
                     "the split '{}' does not exist; serve the whole data set to see its sweeps",
                     sweeps_split(split.name()));
    }
    const LoadedKeyframe frame(is_sweep ? *sweeps : split, numbers[i + 1]);
    const std::string_view sensor = is_sweep ? std::string_view() : kLidar;
    const TensorView cloud = frame.record
                                 .field(is_sweep ? std::string(channel::kPoints)
                                                 : channel_field(kLidar, channel::kPoints))
                                 .tensor();
    const int64_t num_rows = cloud.shape.empty() ? 0 : cloud.shape[0];
    std::vector<float> moved(static_cast<size_t>(num_rows * (kLidarColumns + 1)));
    const int64_t num_kept =
        append_sweep(cloud, {.to_target = to_vehicle * lidar_to_global(frame.record, sensor)},
                     kLidarColumns, num_rows, moved.data());
    for (int64_t row = 0; row < num_kept; ++row) {
      const float* p = &moved[static_cast<size_t>(row * (kLidarColumns + 1))];
      points.push_back({p[0], p[1], p[2]});
    }
  }
  return points;
}

}  // namespace

http::Response answer_scenes(SiteState& state, const http::Request& request) {
  const ServedSplit& split = scene_split(state, request);
  const auto names = split.columns().get(keyframe::kScene);
  const auto times = split.columns().get(keyframe::kTimestamp);
  Json scenes = Json::array();
  int64_t start = 0;
  for (int64_t record = 0; record < split.whole().num_records(); ++record) {
    const std::string_view name = std::get<TextColumn>(*names).at(record);
    const int64_t time = std::get<std::vector<int64_t>>(*times)[static_cast<size_t>(record)];
    if (scenes.empty() || scenes.back()["name"] != name) {
      scenes.push_back({{"name", name}, {"records", Json::array()}, {"seconds", Json::array()}});
      start = time;
    }
    scenes.back()["records"].push_back(record);
    scenes.back()["seconds"].push_back(double(time - start) / 1e6);
  }
  const bool has_sweeps = split.schema().index_of(channel_field(kLidar, channel::kSweeps)) >= 0;
  return json_response(
      {{"cameras", cameras_of(split.schema())}, {"has_sweeps", has_sweeps}, {"scenes", scenes}});
}

http::Response answer_camera(SiteState& state, const http::Request& request) {
  const ServedSplit& split = scene_split(state, request);
  const int64_t number = ServedSet::record_of(split, request);
  const std::string camera = request.text("camera");
  const auto cameras = cameras_of(split.schema());
  if (std::ranges::find(cameras, camera) == cameras.end()) {
    throw Error(ErrorCode::not_found, "there is no camera with this name");
  }
  const auto width = static_cast<int>(request.number("width", 640, 160, 1920));
  const LoadedKeyframe keyframe(split, number);
  Canvas canvas(width, width * 9 / 16, kWhite);
  BoxCounts unused;
  draw_camera(canvas, {0, 0, canvas.width(), canvas.height()}, keyframe.record, camera,
              wanted_boxes(split, number, keyframe.record, request), unused);
  return kept_response("image/jpeg", encode_jpeg(canvas.view(), 85));
}

http::Response answer_above(SiteState& state, const http::Request& request) {
  const ServedSplit& split = scene_split(state, request);
  const int64_t number = ServedSet::record_of(split, request);
  const auto size = static_cast<int>(request.number("size", 700, 160, 2048));
  const int64_t num_sweeps = request.number("sweeps", 0, 0, 30);
  const LoadedKeyframe keyframe(split, number);
  std::vector<Vector3> older;
  if (num_sweeps > 0) older = older_points(state, split, keyframe.record, num_sweeps);
  Canvas canvas(size, size, kWhite);
  draw_from_above(canvas, {0, 0, size, size}, keyframe.record,
                  wanted_boxes(split, number, keyframe.record, request), older);
  return kept_response("image/png", encode_png(canvas.view()));
}

}  // namespace ffkit::serve
