#include "demo_nuscenes/root_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include <ffkit/base/enum_names.h>
#include <ffkit/nuscenes/classes.h>

#include "base/file/file.h"
#include "converter/input/splitmix.h"

namespace ffkit::nuscenes::demo {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kNuScenesWidth = 1600;

Quaternion turned_about_z(double degrees) {
  return {std::cos(degrees * kDegree / 2), 0, 0, std::sin(degrees * kDegree / 2)};
}

Sensor camera(size_t number, double degrees, const Vector3& place, double focal_length,
              int64_t delay_us) {
  // Of a camera that looks ahead: its z is the vehicle's x, its x the vehicle's -y.
  constexpr Quaternion kAhead = {0.5, -0.5, 0.5, -0.5};
  return {.channel = kCameras.at(number),
          .modality = Modality::camera,
          .to_ego = {place, turned_about_z(degrees) * kAhead},
          .focal_length = focal_length,
          .delay_us = delay_us};
}

Sensor radar(size_t number, double degrees, const Vector3& place) {
  return {.channel = kRadars.at(number),
          .modality = Modality::radar,
          .to_ego = {place, turned_about_z(degrees)}};
}

// The lidar leans by a degree, as real ones do: then its frame is not the vehicle's turned about z.
Sensor lidar() {
  const Quaternion lean = {std::cos(kDegree / 2), std::sin(kDegree / 2), 0, 0};
  return {.channel = kLidar,
          .modality = Modality::lidar,
          .to_ego = {{0.94, 0, 1.84}, turned_about_z(-90) * lean}};
}

}  // namespace

constexpr EnumName<Modality> kModalityNames[] = {
    {Modality::camera, "camera"}, {Modality::lidar, "lidar"}, {Modality::radar, "radar"}};
std::string_view to_string(Modality modality) {
  return name_of(kModalityNames, modality);
}

// The cameras look one after another while the lidar turns, which is done at the keyframe.
const std::array<Sensor, kNumSensors>& sensors() {
  static const std::array<Sensor, kNumSensors> all = {
      camera(0, 0, {1.70, 0, 1.51}, 1266, -35'000),
      camera(1, -55, {1.55, -0.49, 1.50}, 1266, -28'000),
      camera(2, 55, {1.52, 0.49, 1.51}, 1266, -43'000),
      camera(3, 180, {0.03, 0, 1.57}, 809, -10'000),
      camera(4, 110, {1.04, 0.48, 1.59}, 1266, -1'000),
      camera(5, -110, {1.02, -0.48, 1.56}, 1266, -20'000),
      lidar(),
      radar(0, 0, {3.4, 0, 0.5}),
      radar(1, 90, {2.4, 0.8, 0.8}),
      radar(2, -90, {2.4, -0.8, 0.8}),
      radar(3, 180, {-0.6, 0.6, 0.5}),
      radar(4, 180, {-0.6, -0.6, 0.5})};
  return all;
}

Matrix3 intrinsics_of(const Sensor& camera, int width) {
  constexpr double kCentreX = 808;
  constexpr double kCentreY = 468;
  const double scale = width / kNuScenesWidth;
  const double focal = camera.focal_length * scale;
  return {focal, 0, kCentreX * scale, 0, focal, kCentreY * scale, 0, 0, 1};
}

namespace {

constexpr int64_t kKeyframeUs = 500'000;
constexpr int64_t kFirstTimestamp = 1'600'000'000'000'000;
constexpr int64_t kSceneUs = 1'000'000'000;  // from the beginning of a scene to the next one's
constexpr double kSecond = 1e-6;

// What a token is of.
enum class Named : uint64_t {
  attribute,
  category,
  sensor,
  calibration,
  log,
  map,
  scene,
  sample,
  sample_data,
  instance,
  annotation
};

// 32 hexadecimal digits. SplitMix maps different numbers to different ones, so no two tokens of a
// set are the same.
std::string token(uint64_t seed, Named named, uint64_t number) {
  constexpr int kNumberBits = 56;
  const uint64_t low = SplitMix((static_cast<uint64_t>(named) << kNumberBits) | number).next();
  return fmt::format("{:016x}{:016x}", SplitMix(SplitMix(seed).next() ^ low).next(), low);
}

constexpr uint64_t kMaxKeyframes = 1000;
uint64_t keyframe_number(const SceneNumber& scene, size_t keyframe) {
  return scene.id() * kMaxKeyframes + keyframe;
}
std::string sample_token(const SceneNumber& scene, size_t keyframe) {
  return token(scene.seed, Named::sample, keyframe_number(scene, keyframe));
}
std::string data_token(const SceneNumber& scene, size_t keyframe, size_t sensor) {
  return token(scene.seed, Named::sample_data,
               keyframe_number(scene, keyframe) * kNumSensors + sensor);
}
std::string instance_token(const SceneNumber& scene, size_t object) {
  return token(scene.seed, Named::instance, scene.id() * kMaxObjects + object);
}
std::string annotation_token(const SceneNumber& scene, size_t keyframe, size_t object) {
  return token(scene.seed, Named::annotation,
               keyframe_number(scene, keyframe) * kMaxObjects + object);
}
std::string calibration_token(uint64_t seed, size_t split, size_t sensor) {
  return token(seed, Named::calibration, split * kNumSensors + sensor);
}

// The token of the row before or behind, or nothing at an end.
template <typename TokenOf>
std::string neighbours(size_t number, size_t count, const TokenOf& token_of) {
  return fmt::format(R"("prev": "{}", "next": "{}")", number > 0 ? token_of(number - 1) : "",
                     number + 1 < count ? token_of(number + 1) : "");
}

std::string numbers(std::span<const double> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}
std::string numbers(const Quaternion& q) {
  return numbers(std::array{q.w, q.x, q.y, q.z});
}

// nuScenes' own.
constexpr std::array kCategories = {"animal",
                                    "human.pedestrian.adult",
                                    "human.pedestrian.child",
                                    "human.pedestrian.construction_worker",
                                    "human.pedestrian.personal_mobility",
                                    "human.pedestrian.police_officer",
                                    "human.pedestrian.stroller",
                                    "human.pedestrian.wheelchair",
                                    "movable_object.barrier",
                                    "movable_object.debris",
                                    "movable_object.pushable_pullable",
                                    "movable_object.trafficcone",
                                    "static_object.bicycle_rack",
                                    "vehicle.bicycle",
                                    "vehicle.bus.bendy",
                                    "vehicle.bus.rigid",
                                    "vehicle.car",
                                    "vehicle.construction",
                                    "vehicle.emergency.ambulance",
                                    "vehicle.emergency.police",
                                    "vehicle.motorcycle",
                                    "vehicle.trailer",
                                    "vehicle.truck"};
constexpr std::array<const char*, 4> kVisibilities = {"v0-40", "v40-60", "v60-80", "v80-100"};

template <typename Names>
std::string token_of_name(uint64_t seed, Named named, const Names& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  return token(seed, named, static_cast<uint64_t>(found - names.begin()));
}

void add_keyframe(const SceneNumber& scene, const Scene& world, size_t keyframe, size_t count,
                  int width, TableRows& rows) {
  const std::string sample = sample_token(scene, keyframe);
  rows.add("sample", fmt::format(R"({{"token": "{}", "timestamp": {}, {}, "scene_token": "{}"}})",
                                 sample, timestamp_of(scene, keyframe, sensors()[kLidarSensor]),
                                 neighbours(keyframe, count,
                                            [&](size_t k) { return sample_token(scene, k); }),
                                 token(scene.seed, Named::scene, scene.id())));
  for (size_t i = 0; i < kNumSensors; ++i) {
    const Sensor& sensor = sensors()[i];
    const bool is_camera = sensor.modality == Modality::camera;
    const std::string data = data_token(scene, keyframe, i);
    const int64_t timestamp = timestamp_of(scene, keyframe, sensor);
    rows.add(
        "sample_data",
        fmt::format(
            R"({{"token": "{}", "sample_token": "{}", "ego_pose_token": "{}", "calibrated_sensor_token": "{}", "timestamp": {}, "fileformat": "{}", "is_key_frame": true, "height": {}, "width": {}, "filename": "{}", {}}})",
            data, sample, data, calibration_token(scene.seed, scene.split, i), timestamp,
            is_camera ? "jpg" : "pcd", is_camera ? width * 9 / 16 : 0, is_camera ? width : 0,
            filename_of(scene, keyframe, sensor),
            neighbours(keyframe, count, [&](size_t k) { return data_token(scene, k, i); })));
    const Pose ego = world.path.pose_at(seconds_of(keyframe, sensor));
    rows.add("ego_pose",
             fmt::format(R"({{"token": "{}", "timestamp": {}, "rotation": {}, "translation": {}}})",
                         data, timestamp, numbers(ego.rotation), numbers(ego.translation)));
  }
}

void add_object(const SceneNumber& scene, const Object& object, size_t number,
                const std::vector<std::vector<Annotation>>& annotations, TableRows& rows) {
  const size_t count = annotations.size();
  const std::string_view category = object_kinds()[object.kind].category;
  rows.add(
      "instance",
      fmt::format(
          R"({{"token": "{}", "category_token": "{}", "nbr_annotations": {}, "first_annotation_token": "{}", "last_annotation_token": "{}"}})",
          instance_token(scene, number),
          token_of_name(scene.seed, Named::category, kCategories, category), count,
          annotation_token(scene, 0, number), annotation_token(scene, count - 1, number)));
  const std::string attribute =
      object.attribute().empty()
          ? ""
          : fmt::format("\"{}\"", token_of_name(scene.seed, Named::attribute, kAttributes,
                                                object.attribute()));
  for (size_t keyframe = 0; keyframe < count; ++keyframe) {
    const Box box = object.box_at(seconds_of(keyframe, sensors()[kLidarSensor]));
    const Annotation& annotation = annotations[keyframe][number];
    rows.add(
        "sample_annotation",
        fmt::format(
            R"({{"token": "{}", "sample_token": "{}", "instance_token": "{}", "visibility_token": "{}", "attribute_tokens": [{}], "translation": {}, "size": {}, "rotation": {}, {}, "num_lidar_pts": {}, "num_radar_pts": 0}})",
            annotation_token(scene, keyframe, number), sample_token(scene, keyframe),
            instance_token(scene, number), annotation.visibility, attribute, numbers(box.center),
            numbers(box.size), numbers(box.rotation),
            neighbours(keyframe, count,
                       [&](size_t k) { return annotation_token(scene, k, number); }),
            annotation.num_lidar_points));
  }
}

}  // namespace

void TableRows::add(std::string_view table, const std::string& row) {
  std::string& rows = rows_[std::string(table)];
  if (!rows.empty()) rows += ",\n";
  rows += row;
}

void TableRows::append(const TableRows& other) {
  for (const auto& [table, rows] : other.rows_) add(table, rows);
}

void TableRows::write(const std::filesystem::path& folder) const {
  for (const auto& [table, rows] : rows_) {
    File file = File::create(folder / (table + ".json"));
    const std::string text = fmt::format("[\n{}\n]\n", rows);
    file.write(std::as_bytes(std::span(text)));
    file.close();
  }
}

double seconds_of(size_t keyframe, const Sensor& sensor) {
  return kSecond *
         static_cast<double>(static_cast<int64_t>(keyframe) * kKeyframeUs + sensor.delay_us);
}

int64_t timestamp_of(const SceneNumber& scene, size_t keyframe, const Sensor& sensor) {
  return kFirstTimestamp + static_cast<int64_t>(scene.id()) * kSceneUs +
         static_cast<int64_t>(keyframe) * kKeyframeUs + sensor.delay_us;
}

std::string filename_of(const SceneNumber& scene, size_t keyframe, const Sensor& sensor) {
  constexpr std::array<const char*, 3> kEndings = {"jpg", "pcd.bin", "pcd"};
  return fmt::format("samples/{0}/{1}__{0}__{2}.{3}", sensor.channel, scene.log(),
                     timestamp_of(scene, keyframe, sensor),
                     kEndings[static_cast<size_t>(sensor.modality)]);
}

TableRows scene_rows(const SceneNumber& scene, std::string_view name, const Scene& world,
                     const std::vector<std::vector<Annotation>>& annotations, int width) {
  TableRows rows;
  const size_t count = annotations.size();
  rows.add(
      "scene",
      fmt::format(
          R"({{"token": "{}", "log_token": "{}", "nbr_samples": {}, "first_sample_token": "{}", "last_sample_token": "{}", "name": "{}", "description": "Made up: {} objects around a vehicle"}})",
          token(scene.seed, Named::scene, scene.id()), token(scene.seed, Named::log, scene.split),
          count, sample_token(scene, 0), sample_token(scene, count - 1), name,
          world.objects.size()));
  for (size_t keyframe = 0; keyframe < count; ++keyframe) {
    add_keyframe(scene, world, keyframe, count, width, rows);
  }
  for (size_t i = 0; i < world.objects.size(); ++i) {
    add_object(scene, world.objects[i], i, annotations, rows);
  }
  return rows;
}

TableRows shared_rows(uint64_t seed, size_t num_splits, int width) {
  TableRows rows;
  const auto add_named = [&](const char* table, const std::string& its_token,
                             std::string_view name) {
    rows.add(table,
             fmt::format(R"({{"token": "{}", "name": "{}", "description": ""}})", its_token, name));
  };
  for (size_t i = 0; i < kCategories.size(); ++i) {
    add_named("category", token(seed, Named::category, i), kCategories[i]);
  }
  for (size_t i = 0; i < kAttributes.size(); ++i) {
    add_named("attribute", token(seed, Named::attribute, i), kAttributes[i]);
  }
  for (size_t i = 0; i < kVisibilities.size(); ++i) {
    rows.add("visibility", fmt::format(R"({{"token": "{}", "level": "{}", "description": ""}})",
                                       i + 1, kVisibilities[i]));
  }
  for (size_t i = 0; i < kNumSensors; ++i) {
    rows.add("sensor", fmt::format(R"({{"token": "{}", "channel": "{}", "modality": "{}"}})",
                                   token(seed, Named::sensor, i), sensors()[i].channel,
                                   to_string(sensors()[i].modality)));
  }
  std::string logs;
  for (size_t split = 0; split < num_splits; ++split) {
    const SceneNumber any{.seed = seed, .split = split};
    const std::string log = token(seed, Named::log, split);
    rows.add(
        "log",
        fmt::format(
            R"({{"token": "{}", "logfile": "{}", "vehicle": "demo", "date_captured": "2020-09-13", "location": "demo"}})",
            log, any.log()));
    logs += fmt::format("{}\"{}\"", logs.empty() ? "" : ", ", log);
    for (size_t i = 0; i < kNumSensors; ++i) {
      const Sensor& sensor = sensors()[i];
      std::string intrinsics = "[]";
      if (sensor.modality == Modality::camera) {
        const Matrix3 m = intrinsics_of(sensor, width);
        const std::span all(m);
        intrinsics = fmt::format("[{}, {}, {}]", numbers(all.first(3)), numbers(all.subspan(3, 3)),
                                 numbers(all.last(3)));
      }
      rows.add(
          "calibrated_sensor",
          fmt::format(
              R"({{"token": "{}", "sensor_token": "{}", "translation": {}, "rotation": {}, "camera_intrinsic": {}}})",
              calibration_token(seed, split, i), token(seed, Named::sensor, i),
              numbers(sensor.to_ego.translation), numbers(sensor.to_ego.rotation), intrinsics));
    }
  }
  rows.add(
      "map",
      fmt::format(
          R"({{"category": "semantic_prior", "token": "{}", "filename": "{}", "log_tokens": [{}]}})",
          token(seed, Named::map, 0), map_filename(seed), logs));
  return rows;
}

std::string map_filename(uint64_t seed) {
  return fmt::format("maps/{}.png", token(seed, Named::map, 0));
}

std::string can_bus_poses(const SceneNumber& scene, const Scene& world, size_t num_keyframes) {
  constexpr int64_t kMessageUs = 20'000;
  constexpr double kGravity = 9.81;
  const EgoPath& path = world.path;
  const int64_t first = timestamp_of(scene, 0, sensors()[kLidarSensor]);
  // Not at the keyframes' own times; from shortly before the first one to shortly behind the last.
  constexpr int64_t kBegin = -5 * kMessageUs + 7'000;
  const int64_t end = static_cast<int64_t>(num_keyframes - 1) * kKeyframeUs + 5 * kMessageUs;
  std::string messages;
  for (int64_t time = kBegin; time < end; time += kMessageUs) {
    const Pose pose = path.pose_at(kSecond * static_cast<double>(time));
    messages += fmt::format(
        R"({}{{"accel": [0.0, {}, {}], "orientation": {}, "pos": {}, "rotation_rate": [0.0, 0.0, {}], "utime": {}, "vel": [{}, 0.0, 0.0]}})",
        messages.empty() ? "" : ",\n", path.speed() * path.turn_rate(), kGravity,
        numbers(pose.rotation), numbers(pose.translation), path.turn_rate(), first + time,
        path.speed());
  }
  return fmt::format("[\n{}\n]\n", messages);
}

}  // namespace ffkit::nuscenes::demo
