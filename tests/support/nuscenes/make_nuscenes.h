// Small made-up nuScenes sets, in the records of ffkit::nuscenes: scenes of a vehicle that drives a
// bend.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/record.h>

#include "test_images.h"

namespace ffkit::testing {

struct NuscenesSpec {
  std::string split = "mini_val";
  int num_scenes = 2;
  int keyframes_per_scene = 3;
  int sweeps_between = 2;  // lidar frames between keyframes
  int max_sweeps = 10;     // in LIDAR_TOP/sweeps
  int width = 160;
  int height = 90;
  int num_points = 200;  // of a cloud; every one has a few within 1 m
  int num_boxes = 6;     // of a keyframe: one of each class in turn, one of no class
  // Instead of what is made up: the six cameras' JPEGs, and the numbers of a cloud, five a point.
  std::vector<std::vector<std::byte>> images;
  std::vector<float> cloud;
};

// Writes folder/<split> and folder/<split>_sweeps.
class NuscenesMaker {
 public:
  NuscenesMaker(std::filesystem::path folder, const NuscenesSpec& spec)
      : folder_(std::move(folder)), spec_(spec) {
    std::filesystem::create_directories(folder_);
    write_keyframes();
    write_sweeps();
  }

 private:
  struct Frame {
    int64_t is_sweep;  // 1: number is one of <split>_sweeps
    int64_t number;
  };

  static std::vector<double> numbers(const nuscenes::Pose& pose) {
    const auto& t = pose.translation;
    const auto& q = pose.rotation;
    return {t[0], t[1], t[2], q.w, q.x, q.y, q.z};
  }
  static nuscenes::Quaternion around_z(double angle) {
    return {std::cos(angle / 2), 0, 0, std::sin(angle / 2)};
  }
  int frames_per_keyframe() const { return spec_.sweeps_between + 1; }
  // Of frame `frame` of a scene; a keyframe is every frames_per_keyframe()-th.
  static int64_t timestamp(int scene, int frame) {
    return 1532402927000000 + scene * 60000000LL + frame * 50001LL;
  }
  static nuscenes::Pose ego(int scene, int frame) {
    const double t = 0.05 * frame;
    return {{1000 * scene + 8 * t, 400 + 2 * t * t, 0}, around_z(0.1 * scene + 0.2 * t)};
  }
  static nuscenes::Pose lidar_pose() {
    return {{0.94, 0, 1.84}, nuscenes::Quaternion{0.7077, -0.0065, 0.0106, -0.7063}};
  }
  static nuscenes::Pose camera_pose(size_t camera) {
    constexpr double kDegrees[] = {0, -55, 55, 180, 110, -110};
    const nuscenes::Quaternion ahead = {0.5, -0.5, 0.5, -0.5};  // z ahead, x right, y down
    return {{1.5, 0, 1.5}, around_z(kDegrees[camera] * 3.14159265358979 / 180) * ahead};
  }
  std::vector<std::byte> made_up(uint32_t seed) const {
    return encode_jpeg(make_picture(spec_.width, spec_.height, seed).view());
  }
  int64_t num_points() const {
    return spec_.cloud.empty() ? spec_.num_points : std::ssize(spec_.cloud) / 5;
  }
  std::vector<float> cloud(int scene, int frame, int64_t columns) const {
    if (!spec_.cloud.empty()) return spec_.cloud;
    std::mt19937 random(static_cast<uint32_t>(scene * 1000 + frame));
    std::vector<float> points;
    for (int64_t i = 0; i < spec_.num_points * columns; ++i) {
      const auto value = static_cast<float>(random() % 80001) / 1000 - 40;
      const bool is_near = i / columns % 50 == 0;
      points.push_back(i % columns == 2 ? value / 20 : (is_near ? value / 41 : value));
    }
    return points;
  }

  // Data of the record being built.
  template <typename T>
  void set(RecordBuilder& builder, const Schema& schema, const std::string& name,
           std::vector<int64_t> shape, const std::vector<T>& values) {
    auto& kept = kept_.emplace_back(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(kept.data(), values.data(), kept.size());
    builder.set_tensor(schema.require(name), {dtype_of<T>(), std::move(shape), kept});
  }
  void set_text(RecordBuilder& builder, const Schema& schema, const std::string& name,
                const std::string& text) {
    builder.set_string(schema.require(name), texts_.emplace_back(text));
  }
  void set_sensor(RecordBuilder& builder, const Schema& schema, const std::string& of,
                  const nuscenes::Pose& sensor, int scene, int frame) {
    using namespace nuscenes;
    const auto name = [&](const char* field) {
      return of.empty() ? field : channel_field(of, field);
    };
    set(builder, schema, name(channel::kSensorToEgo), {7}, numbers(sensor));
    set(builder, schema, name(channel::kEgoToGlobal), {7}, numbers(ego(scene, frame)));
    set_text(builder, schema, name(channel::kFilename), fmt::format("file-{}-{}", scene, frame));
    set_text(builder, schema, name(channel::kToken), fmt::format("{}-{}-{}", of, scene, frame));
    builder.set_scalar<int64_t>(schema.require(name(channel::kTimestamp)), timestamp(scene, frame));
  }
  void set_boxes(RecordBuilder& builder, const Schema& schema, int scene, int frame) {
    using namespace nuscenes;
    constexpr const char* kCategories[] = {
        "vehicle.car",     "vehicle.truck", "human.pedestrian.adult", "movable_object.barrier",
        "vehicle.bicycle", "animal"};
    const auto n = static_cast<int64_t>(spec_.num_boxes);
    std::vector<double> global;
    std::vector<double> velocity;
    std::vector<float> lidar;
    std::vector<int64_t> classes;
    std::vector<int64_t> points;
    std::vector<int64_t> zeros(static_cast<size_t>(n), 0);
    std::vector<int64_t> attributes(static_cast<size_t>(n), -1);
    std::vector<uint8_t> valid;
    std::vector<std::string_view> categories;
    std::vector<std::string_view> tokens;
    for (int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<double>(i);
      Box box{.center = {12 + 4 * k, 3 * std::pow(-1, k), 0.8},
              .size = {1.9, 4.5 + 0.1 * k, 1.6},
              .rotation = around_z(0.3 * k),
              .velocity = {k, -0.5 * k, 0}};
      box = move(box, ego(scene, frame));
      if (i == 1) box.velocity.fill(std::numeric_limits<double>::quiet_NaN());
      global.insert(global.end(), box.center.begin(), box.center.end());
      global.insert(global.end(), box.size.begin(), box.size.end());
      const Quaternion& q = box.rotation;
      global.insert(global.end(), {q.w, q.x, q.y, q.z});
      velocity.insert(velocity.end(), box.velocity.begin(), box.velocity.end());
      const Box seen = move_back(move_back(box, ego(scene, frame)), lidar_pose());
      for (const double number : lidar_box_numbers(seen)) lidar.push_back(float(number));
      categories.push_back(kCategories[i % 6]);
      classes.push_back(class_of_category(categories.back()));
      points.push_back(i == 3 ? 0 : 5);
      valid.push_back(i == 3 ? 0 : 1);
      tokens.push_back(texts_.emplace_back(fmt::format("box-{}-{}-{}", scene, frame, i)));
    }
    builder.set_list(schema.require(keyframe::kBoxToken), tokens);
    builder.set_list(schema.require(keyframe::kBoxInstance), tokens);
    builder.set_list(schema.require(keyframe::kBoxCategory), categories);
    set(builder, schema, keyframe::kBoxGlobal, {n, 10}, global);
    set(builder, schema, keyframe::kBoxVelocity, {n, 3}, velocity);
    set(builder, schema, keyframe::kBoxLidar, {n, 9}, lidar);
    set(builder, schema, keyframe::kBoxClass, {n}, classes);
    set(builder, schema, keyframe::kBoxValid, {n}, valid);
    set(builder, schema, keyframe::kBoxNumLidarPoints, {n}, points);
    set(builder, schema, keyframe::kBoxNumRadarPoints, {n}, zeros);
    set(builder, schema, keyframe::kBoxVisibility, {n}, zeros);
    set(builder, schema, keyframe::kBoxAttribute, {n}, attributes);
  }

  void write_keyframes() {
    using namespace nuscenes;
    KeyframeFields fields;
    for (const auto camera : kCameras) fields.cameras.emplace_back(camera);
    fields.radar_sweeps = false;
    DatasetWriter writer(folder_ / spec_.split,
                         {.split = spec_.split, .schema = keyframe_schema(fields)});
    const Schema& schema = writer.schema();
    std::vector<std::byte> record;
    for (int scene = 0; scene < spec_.num_scenes; ++scene) {
      for (int i = 0; i < spec_.keyframes_per_scene; ++i) {
        RecordBuilder builder(schema);
        const int frame = i * frames_per_keyframe();
        const int64_t number = scene * spec_.keyframes_per_scene + i;
        set_text(builder, schema, keyframe::kToken, fmt::format("sample-{}-{}", scene, i));
        set_text(builder, schema, keyframe::kScene, fmt::format("scene-{:04}", scene));
        set_text(builder, schema, keyframe::kSceneToken, fmt::format("scene-token-{}", scene));
        builder.set_scalar<int64_t>(schema.require(keyframe::kTimestamp), timestamp(scene, frame));
        builder.set_scalar<int64_t>(schema.require(keyframe::kPrev), i == 0 ? -1 : number - 1);
        builder.set_scalar<int64_t>(schema.require(keyframe::kNext),
                                    i + 1 == spec_.keyframes_per_scene ? -1 : number + 1);
        for (size_t camera = 0; camera < kCameras.size(); ++camera) {
          const std::string name(kCameras[camera]);
          auto& image = kept_.emplace_back(
              spec_.images.empty() ? made_up(static_cast<uint32_t>(number * 6) + uint32_t(camera))
                                   : spec_.images[camera]);
          builder.set_bytes(schema.require(channel_field(name, channel::kImage)), image);
          const double focal = 0.8 * spec_.width;
          set(builder, schema, channel_field(name, channel::kIntrinsics), {3, 3},
              std::vector<double>{focal, 0, spec_.width / 2.0, 0, focal, spec_.height / 2.0, 0, 0,
                                  1});
          set_sensor(builder, schema, name, camera_pose(camera), scene, frame);
        }
        const std::string lidar(kLidar);
        set(builder, schema, channel_field(lidar, channel::kPoints), {num_points(), 5},
            cloud(scene, frame, 5));
        set_sensor(builder, schema, lidar, lidar_pose(), scene, frame);
        std::vector<int64_t> sweeps;
        for (int back = frame - 1; back >= 0 && frame - back <= spec_.max_sweeps; --back) {
          const Frame at = find(scene, back);
          sweeps.insert(sweeps.end(), {at.is_sweep, at.number});
        }
        set(builder, schema, channel_field(lidar, channel::kSweeps), {std::ssize(sweeps) / 2, 2},
            sweeps);
        for (const auto radar : kRadars) {
          std::vector<float> points(std::size_t{4} * 18, 2.5F);
          for (size_t point = 0; point < 4; ++point) {
            points[18 * point + 3] = 1;                    // dyn_prop
            points[18 * point + 11] = 3;                   // ambig_state
            points[18 * point + 14] = point == 3 ? 4 : 0;  // invalid_state
          }
          set(builder, schema, channel_field(radar, channel::kPoints), {4, 18}, points);
          set_sensor(builder, schema, std::string(radar), lidar_pose(), scene, frame);
        }
        set_boxes(builder, schema, scene, frame);
        builder.encode(record);
        writer.append(record);
        kept_.clear();
        texts_.clear();
      }
    }
    writer.finish();
  }

  int sweeps_per_scene() const { return (spec_.keyframes_per_scene - 1) * spec_.sweeps_between; }
  Frame find(int scene, int frame) const {
    const int keyframe = frame / frames_per_keyframe();
    const int within = frame % frames_per_keyframe();
    if (within == 0) return {0, scene * spec_.keyframes_per_scene + keyframe};
    return {1, scene * sweeps_per_scene() + keyframe * spec_.sweeps_between + within - 1};
  }

  void write_sweeps() {
    using namespace nuscenes;
    const std::string split = sweeps_split(spec_.split);
    DatasetWriter writer(folder_ / split, {.split = split, .schema = sweep_schema()});
    const Schema& schema = writer.schema();
    std::vector<std::byte> record;
    const int num_frames = (spec_.keyframes_per_scene - 1) * frames_per_keyframe();
    for (int scene = 0; scene < spec_.num_scenes; ++scene) {
      for (int frame = 0; frame < num_frames; ++frame) {
        if (frame % frames_per_keyframe() == 0) continue;
        RecordBuilder builder(schema);
        set_text(builder, schema, sweep::kChannel, std::string(kLidar));
        set_text(builder, schema, sweep::kScene, fmt::format("scene-{:04}", scene));
        set(builder, schema, channel::kPoints, {num_points(), 5}, cloud(scene, frame, 5));
        set_sensor(builder, schema, "", lidar_pose(), scene, frame);
        builder.encode(record);
        writer.append(record);
        kept_.clear();
        texts_.clear();
      }
    }
    if (num_frames > 0 && spec_.sweeps_between > 0) writer.finish();
  }

  std::filesystem::path folder_;
  NuscenesSpec spec_;
  std::deque<std::vector<std::byte>> kept_;
  std::deque<std::string> texts_;
};

inline void make_nuscenes(const std::filesystem::path& folder, const NuscenesSpec& spec = {}) {
  NuscenesMaker{folder, spec};
}

}  // namespace ffkit::testing
