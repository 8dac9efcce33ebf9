#include "demo_nuscenes/root_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <array>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <ffkit/base/machine.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/splits.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "converter/input/cancel.h"
#include "converter/input/splitmix.h"
#include "converter/input/thread_limit.h"
#include "demo_nuscenes/root_tables.h"
#include "demo_nuscenes/sensors.h"

namespace ffkit::nuscenes::demo {
namespace {

namespace fs = std::filesystem;

constexpr int kJpegQuality = 90;
constexpr std::array<const char*, 2> kSplits = {"train", "val"};

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require_done(error, folder, "the folder cannot be made");
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  File file = File::create(path);
  file.write(bytes);
  file.close();
}

// A radar file without points, as nuScenes writes it: one point of NaN, and one byte behind it,
// without which the devkit refuses the file.
std::string empty_radar_file() {
  std::string file = fmt::format(
      "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS {}\n"
      "SIZE 4 4 4 1 2 4 4 4 4 4 1 1 1 1 1 1 1 1\nTYPE F F F I I F F F F F I I I I I I I I\n"
      "COUNT 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nWIDTH 1\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n"
      "POINTS 1\nDATA binary\n",
      fmt::join(kRadarFields, " "));
  constexpr size_t kPointBytes = 43;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string header = file;
  file.append(kPointBytes + 1, '\0');
  for (size_t i = 0; i < 3; ++i) {
    file.replace(header.size() + i * sizeof(nan), sizeof(nan), reinterpret_cast<const char*>(&nan),
                 sizeof(nan));
  }
  return file;
}

// Of an object that no camera shows: the lowest.
int visibility_of(const SeenPixels& pixels) {
  if (pixels.alone == 0) return 1;
  const double share = static_cast<double>(pixels.seen) / static_cast<double>(pixels.alone);
  constexpr std::array<double, 3> kLevels = {0.4, 0.6, 0.8};
  int visibility = 1;
  for (const double level : kLevels) visibility += share >= level ? 1 : 0;
  return visibility;
}

// Makes the files and rows of one scene after another; one per thread.
class SceneWriter {
 public:
  SceneWriter(const fs::path& root, const DemoNuScenesOptions& options,
              const std::atomic<bool>* cancel)
      : root_(root),
        options_(options),
        cancel_(cancel),
        width_(static_cast<int>(options.width)),
        painter_(width_, width_ * 9 / 16),
        radar_file_(empty_radar_file()) {}

  TableRows write(const SceneNumber& number, const std::string& name) {
    const auto num_keyframes = static_cast<size_t>(options_.num_keyframes);
    const Scene scene = draw_scene(number.seed, number.id(),
                                   static_cast<double>(num_keyframes) * kSecondsBetweenKeyframes);
    std::vector<std::vector<Annotation>> annotations;
    for (size_t keyframe = 0; keyframe < num_keyframes; ++keyframe) {
      throw_if_cancelled(cancel_);
      annotations.push_back(write_keyframe(number, scene, keyframe));
    }
    const std::string poses = can_bus_poses(number, scene, num_keyframes);
    write_file(root_ / "can_bus" / (name + "_pose.json"), std::as_bytes(std::span(poses)));
    return scene_rows(number, name, scene, annotations, width_);
  }

 private:
  std::vector<Annotation> write_keyframe(const SceneNumber& number, const Scene& scene,
                                         size_t keyframe) {
    std::vector<Annotation> annotations(scene.objects.size());
    std::vector<SeenPixels> pixels(scene.objects.size());
    for (size_t i = 0; i < kNumSensors; ++i) {
      const Sensor& sensor = sensors()[i];
      const fs::path file = root_ / filename_of(number, keyframe, sensor);
      const double seconds = seconds_of(keyframe, sensor);
      const Pose ego = scene.path.pose_at(seconds);
      const Transform to_global = make_transform(ego) * make_transform(sensor.to_ego);
      switch (sensor.modality) {
        case Modality::camera: {
          // Hashed, as in draw_scene().
          SplitMix noise(SplitMix(number.seed + 1).next() ^
                         SplitMix((number.id() * 1000 + keyframe) * kNumSensors + i).next());
          jpeg_.encode(painter_.paint(scene, seconds, to_global, intrinsics_of(sensor, width_),
                                      noise, pixels),
                       kJpegQuality, encoded_);
          write_file(file, encoded_);
          break;
        }
        case Modality::lidar: {
          const std::vector<float> points = scan(scene, seconds, to_global);
          write_file(file, std::as_bytes(std::span(points)));
          for (size_t k = 0; k < annotations.size(); ++k) {
            const Box box =
                move_back(move_back(scene.objects[k].box_at(seconds), ego), sensor.to_ego);
            annotations[k].num_lidar_points = count_points(points, box);
          }
          break;
        }
        case Modality::radar:
          write_file(file, std::as_bytes(std::span(radar_file_)));
          break;
      }
    }
    for (size_t k = 0; k < annotations.size(); ++k) {
      annotations[k].visibility = visibility_of(pixels[k]);
    }
    return annotations;
  }

  const fs::path& root_;
  const DemoNuScenesOptions& options_;
  const std::atomic<bool>* const cancel_;
  const int width_;
  CameraPainter painter_;
  const std::string radar_file_;
  JpegEncoder jpeg_;
  std::vector<std::byte> encoded_;
};

struct NamedScene {
  SceneNumber number;
  std::string name;
};

std::vector<NamedScene> scenes_of(const DemoNuScenesOptions& options, uint64_t seed) {
  std::vector<NamedScene> scenes;
  for (size_t split = 0; split < kSplits.size(); ++split) {
    const int64_t count = split == 0 ? options.num_train_scenes : options.num_val_scenes;
    const std::vector<std::string> names = scenes_of_split(kSplits[split]);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      scenes.push_back({{.seed = seed, .split = split, .number = i}, names.at(i)});
    }
  }
  return scenes;
}

void write_map(const fs::path& root, uint64_t seed) {
  constexpr int kSide = 16;
  const std::vector<uint8_t> white(size_t{kSide} * kSide * 3, 255);
  write_file(
      root / map_filename(seed),
      encode_png(
          {.data = white.data(), .width = kSide, .height = kSide, .stride = ptrdiff_t{kSide} * 3}));
}

}  // namespace

void validate(const DemoNuScenesOptions& options) {
  check_options(options);
  if (options.width % 16 == 0 && options.width >= 64 && options.width <= 1600) return;
  throw error_of(ErrorCode::invalid_argument,
                 "demo: the width of pictures is {}; it must be a multiple of 16 from 64 to 1600, "
                 "because their height is 9/16 of it",
                 options.width);
}

void write_root(const fs::path& folder, const DemoNuScenesOptions& options,
                const ConvertOptions& conversion) {
  validate(options);
  const std::vector<NamedScene> scenes = scenes_of(options, conversion.seed);
  for (const Sensor& sensor : sensors()) make_folders(folder / "samples" / sensor.channel);
  for (const char* name : {kVersion, "maps", "can_bus"}) make_folders(folder / name);
  write_map(folder, conversion.seed);
  std::vector<TableRows> rows(scenes.size());
  const int num_threads = conversion.num_threads > 0 ? conversion.num_threads : usable_cores();
  require_threads(num_threads);
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(num_threads));
  tbb::task_arena arena(num_threads);
  arena.execute([&] {
    tbb::parallel_for(size_t{0}, scenes.size(), [&](size_t i) {
      rows[i] =
          SceneWriter(folder, options, conversion.cancel).write(scenes[i].number, scenes[i].name);
    });
  });
  TableRows all = shared_rows(conversion.seed, options.num_val_scenes > 0 ? 2 : 1,
                              static_cast<int>(options.width));
  for (const TableRows& of_scene : rows) all.append(of_scene);
  all.write(folder / kVersion);
}

}  // namespace ffkit::nuscenes::demo
