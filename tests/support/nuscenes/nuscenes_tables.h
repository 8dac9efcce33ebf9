// A nuScenes data root that is made up: tables of any size, in the official files' layout (a line a
// member), and files that go with them. Nothing in it comes from nuScenes. Rows are in no order of
// time, as in the real tables.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit::testing {

struct NuScenesShape {
  std::string version = "v1.0-mini";
  std::vector<std::string> scenes = {"scene-0061", "scene-0103"};
  int keyframes = 3;     // of a scene
  int lidar_sweeps = 2;  // between two keyframes
  int camera_sweeps = 1;
  int radar_sweeps = 1;
  int instances = 2;  // of a scene
  int lifetime = 2;   // keyframes in which an instance is seen, one after the other
  int logs = 1;       // scenes take turns
};

class NuScenesTables {
 public:
  explicit NuScenesTables(NuScenesShape shape) : shape_(std::move(shape)) {}

  // Writes root/<version>/*.json. `on_file`, if given, gets the name of each row of sample_data.
  void write(
      const std::filesystem::path& root,
      const std::function<void(std::string_view filename, bool is_key_frame)>& on_file = {}) {
    folder_ = root / shape_.version;
    std::filesystem::create_directories(folder_);
    write_small_tables();
    write_scenes_and_samples();
    write_data(on_file);
    write_annotations();
  }

  // 32 hexadecimal digits that are other ones for each kind and number.
  static std::string token(char kind, uint64_t number) {
    const uint64_t seed = static_cast<uint64_t>(kind) << 56 | number;
    return fmt::format("{:016x}{:016x}", mix(seed), mix(~seed));
  }
  std::string sample_token(size_t scene, int keyframe) const {
    return token('s', scene * 1000 + static_cast<size_t>(keyframe));
  }

  static constexpr std::array kChannels = {
      "CAM_FRONT",        "CAM_FRONT_RIGHT",   "CAM_FRONT_LEFT",  "CAM_BACK",
      "CAM_BACK_LEFT",    "CAM_BACK_RIGHT",    "LIDAR_TOP",       "RADAR_FRONT",
      "RADAR_FRONT_LEFT", "RADAR_FRONT_RIGHT", "RADAR_BACK_LEFT", "RADAR_BACK_RIGHT"};
  // Of scene i's keyframe k, in microseconds.
  static int64_t time_of(size_t scene, int keyframe) {
    return 1'532'402'000'000'000 + static_cast<int64_t>(scene) * 100'000'000 + keyframe * 500'000;
  }

 private:
  // SplitMix64's output function: a bijection.
  static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  static double uniform(uint64_t seed) { return static_cast<double>(mix(seed) >> 11) * 0x1p-53; }

  // One table, written row by row.
  class Table {
   public:
    Table(const std::filesystem::path& folder, const std::string& name)
        : file_(std::fopen((folder / (name + ".json")).c_str(), "wb")) {
      if (file_ == nullptr) throw std::runtime_error("cannot write " + name);
      text_ = "[";
    }
    ~Table() {
      text_ += "\n]";
      flush();
      std::fclose(file_);
    }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;

    template <typename... Values>
    void row(fmt::format_string<Values...> format, Values&&... values) {
      text_ += is_first_ ? "\n{\n" : ",\n{\n";
      is_first_ = false;
      fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
      text_ += "\n}";
      if (text_.size() > 1 << 20) flush();
    }

   private:
    void flush() {
      if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) {
        throw std::runtime_error("cannot write a table");
      }
      text_.clear();
    }

    std::FILE* file_;
    std::string text_;
    bool is_first_ = true;
  };

  static std::string rotation(uint64_t seed) {
    const double z = 0.9 * uniform(seed);
    return fmt::format("[\n{},\n0.0,\n0.0,\n{}\n]", std::sqrt(1 - z * z), z);
  }
  static std::string vector(uint64_t seed, double scale) {
    return fmt::format("[\n{},\n{},\n{}\n]", scale * uniform(seed), scale * uniform(seed + 1),
                       scale * uniform(seed + 2));
  }

  size_t log_of(size_t scene) const { return scene % static_cast<size_t>(shape_.logs); }

  void write_small_tables() const {
    const auto logs = static_cast<size_t>(shape_.logs);
    {
      Table table(folder_, "category");
      table.row(
          "\"token\": \"{}\",\n\"name\": \"vehicle.car\",\n\"description\": \"a car, \\\"}}, {{[\"",
          token('c', 0));
      table.row("\"token\": \"{}\",\n\"name\": \"animal\",\n\"description\": \"\"", token('c', 1));
    }
    {
      Table table(folder_, "attribute");
      table.row("\"token\": \"{}\",\n\"name\": \"vehicle.parked\",\n\"description\": \"\"",
                token('t', 0));
    }
    {
      Table table(folder_, "visibility");
      for (int i = 1; i <= 4; ++i)
        table.row("\"token\": \"{}\",\n\"level\": \"v\",\n\"description\": \"\"", i);
    }
    Table log(folder_, "log");
    Table map(folder_, "map");
    Table sensor(folder_, "sensor");
    Table calibrated(folder_, "calibrated_sensor");
    for (size_t i = 0; i < logs; ++i) {
      log.row(
          "\"token\": \"{}\",\n\"logfile\": \"log-{}\",\n\"vehicle\": "
          "\"n{:03}\",\n\"date_captured\": \"2018-07-24\",\n\"location\": \"nowhere\"",
          token('l', i), i, i);
      for (size_t c = 0; c < kChannels.size(); ++c) {
        const char* const intrinsics =
            "[\n[\n1266.4,\n0.0,\n816.2\n],\n[\n0.0,\n1266.4,\n491.5\n],\n[\n0.0,\n0.0,\n1.0\n]\n]";
        calibrated.row(
            "\"token\": \"{}\",\n\"sensor_token\": \"{}\",\n\"translation\": {},\n\"rotation\": "
            "{},\n\"camera_intrinsic\": {}",
            token('k', i * 100 + c), token('S', c), vector(i * 100 + c, 2), rotation(i * 100 + c),
            c < 6 ? intrinsics : "[]");
      }
    }
    map.row(
        "\"category\": \"semantic_prior\",\n\"token\": \"{}\",\n\"filename\": "
        "\"maps/m.png\",\n\"log_tokens\": [\n\"{}\"\n]",
        token('m', 0), token('l', 0));
    for (size_t c = 0; c < kChannels.size(); ++c) {
      sensor.row("\"token\": \"{}\",\n\"channel\": \"{}\",\n\"modality\": \"m\"", token('S', c),
                 kChannels[c]);
    }
  }

  void write_scenes_and_samples() const {
    Table scenes(folder_, "scene");
    Table samples(folder_, "sample");
    const int last = shape_.keyframes - 1;
    for (size_t i = 0; i < shape_.scenes.size(); ++i) {
      scenes.row(
          "\"token\": \"{}\",\n\"log_token\": \"{}\",\n\"nbr_samples\": "
          "{},\n\"first_sample_token\": \"{}\",\n\"last_sample_token\": \"{}\",\n\"name\": "
          "\"{}\",\n\"description\": \"\"",
          token('e', i), token('l', log_of(i)), shape_.keyframes, sample_token(i, 0),
          sample_token(i, last), shape_.scenes[i]);
      for (int k = last; k >= 0; --k) {
        samples.row(
            "\"token\": \"{}\",\n\"timestamp\": {},\n\"prev\": \"{}\",\n\"next\": "
            "\"{}\",\n\"scene_token\": \"{}\"",
            sample_token(i, k), time_of(i, k), k > 0 ? sample_token(i, k - 1) : "",
            k < last ? sample_token(i, k + 1) : "", token('e', i));
      }
    }
  }

  int sweeps_of(size_t channel) const {
    if (channel < 6) return shape_.camera_sweeps;
    return channel == 6 ? shape_.lidar_sweeps : shape_.radar_sweeps;
  }

  void write_data(const std::function<void(std::string_view, bool)>& on_file) const {
    Table data(folder_, "sample_data");
    Table poses(folder_, "ego_pose");
    for (size_t scene = 0; scene < shape_.scenes.size(); ++scene) {
      for (size_t c = 0; c < kChannels.size(); ++c) {
        // Frame 0 is keyframe 0; `step` frames later comes the next one.
        const int step = sweeps_of(c) + 1;
        const int num_frames = step * (shape_.keyframes - 1) + 1;
        const auto name = [&](int frame) {
          return token('d', (scene * 100 + c) * 10'000 + static_cast<size_t>(frame));
        };
        // Last first.
        for (int frame = num_frames - 1; frame >= 0; --frame) {
          const bool is_key = frame % step == 0;
          const int keyframe = (frame + step - 1) / step;  // a sweep belongs to the one after it
          const int64_t time = time_of(scene, 0) + frame * 500'000LL / step;
          const char* const ending = c < 6 ? "jpg" : c == 6 ? "pcd.bin" : "pcd";
          const std::string filename =
              fmt::format("{}/{}/log-{}__{}__{}.{}", is_key ? "samples" : "sweeps", kChannels[c],
                          log_of(scene), kChannels[c], time, ending);
          data.row(
              "\"token\": \"{}\",\n\"sample_token\": \"{}\",\n\"ego_pose_token\": "
              "\"{}\",\n\"calibrated_sensor_token\": \"{}\",\n\"timestamp\": {},\n\"fileformat\": "
              "\"{}\",\n\"is_key_frame\": {},\n\"height\": {},\n\"width\": {},\n\"filename\": "
              "\"{}\",\n\"prev\": \"{}\",\n\"next\": \"{}\"",
              name(frame), sample_token(scene, keyframe), name(frame),
              token('k', log_of(scene) * 100 + c), time, c < 6 ? "jpg" : "pcd", is_key,
              c < 6 ? 900 : 0, c < 6 ? 1600 : 0, filename, frame > 0 ? name(frame - 1) : "",
              frame + 1 < num_frames ? name(frame + 1) : "");
          const uint64_t seed = static_cast<uint64_t>(time) + c;
          poses.row(
              "\"token\": \"{}\",\n\"timestamp\": {},\n\"rotation\": {},\n\"translation\": {}",
              name(frame), time, rotation(seed), vector(seed, 2000));
          if (on_file) on_file(filename, is_key);
        }
      }
    }
  }

  void write_annotations() const {
    Table instances(folder_, "instance");
    Table annotations(folder_, "sample_annotation");
    const int lifetime = std::min(shape_.lifetime, shape_.keyframes);
    for (size_t scene = 0; scene < shape_.scenes.size(); ++scene) {
      for (int i = 0; i < shape_.instances; ++i) {
        const uint64_t id = scene * 1000 + static_cast<uint64_t>(i);
        const int begin = i % (shape_.keyframes - lifetime + 1);
        const auto name = [&](int k) { return token('a', id * 1000 + static_cast<uint64_t>(k)); };
        instances.row(
            "\"token\": \"{}\",\n\"category_token\": \"{}\",\n\"nbr_annotations\": "
            "{},\n\"first_annotation_token\": \"{}\",\n\"last_annotation_token\": \"{}\"",
            token('i', id), token('c', static_cast<uint64_t>(i % 2)), lifetime, name(0),
            name(lifetime - 1));
        for (int k = 0; k < lifetime; ++k) {
          const uint64_t seed = id * 1000 + static_cast<uint64_t>(k);
          annotations.row(
              "\"token\": \"{}\",\n\"sample_token\": \"{}\",\n\"instance_token\": "
              "\"{}\",\n\"visibility_token\": \"{}\",\n\"attribute_tokens\": "
              "[\n\"{}\"\n],\n\"translation\": {},\n\"size\": {},\n\"rotation\": {},\n\"prev\": "
              "\"{}\",\n\"next\": \"{}\",\n\"num_lidar_pts\": {},\n\"num_radar_pts\": 0",
              name(k), sample_token(scene, begin + k), token('i', id), 1 + i % 4, token('t', 0),
              vector(seed, 2000), vector(seed + 3, 5), rotation(seed), k > 0 ? name(k - 1) : "",
              k + 1 < lifetime ? name(k + 1) : "", i);
        }
      }
    }
  }

  const NuScenesShape shape_;
  std::filesystem::path folder_;
};

// A radar's PCD file of `num_points` points whose numbers count up; without any, as nuScenes has
// it, one point of NaN.
inline std::string radar_pcd(int num_points) {
  std::string file = fmt::format(
      "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z dyn_prop id rcs vx vy "
      "vx_comp vy_comp is_quality_valid ambig_state x_rms y_rms "
      "invalid_state pdh0 vx_rms vy_rms\nSIZE 4 4 4 1 2 4 4 4 4 4 1 1 1 1 1 1 1 1\nTYPE F F F I I "
      "F F F F F I I I I I I I I\nCOUNT 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
      "1 1 1\nWIDTH {0}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {0}\nDATA binary\n",
      std::max(num_points, 1));
  const auto add = [&file](auto number) {
    file.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  for (int i = 0; i < std::max(num_points, 1); ++i) {
    const float first = num_points == 0 ? std::nanf("") : static_cast<float>(i);
    for (int j = 0; j < 3; ++j) add(first + 0.25F * static_cast<float>(j));
    add(static_cast<int8_t>(i % 8));
    add(static_cast<int16_t>(-i));
    for (int j = 0; j < 5; ++j) add(0.5F * static_cast<float>(i + j));
    for (int j = 0; j < 8; ++j) add(static_cast<int8_t>(j - i));
  }
  return file + '\0';
}

}  // namespace ffkit::testing
