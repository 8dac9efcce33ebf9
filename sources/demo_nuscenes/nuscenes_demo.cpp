#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <ffkit/base/machine.h>
#include <ffkit/base/option_names.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/sources/demo.h>
#include <ffkit/sources/nuscenes.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "converter/input/cancel.h"
#include "converter/input/splitmix.h"
#include "converter/input/thread_limit.h"
#include "demo/demo_parts.h"
#include "demo_nuscenes/root_tables.h"
#include "demo_nuscenes/sensors.h"

namespace ffkit {
namespace nuscenes::demo {
namespace {

namespace fs = std::filesystem;

// A made-up nuScenes root: the thirteen tables of v1.0-trainval, samples/, maps/ and can_bus/ in
// the layout of the official data set. The scenes bear names of the official train and val splits,
// so that every reader of nuScenes splits them.

constexpr const char* kVersion = "v1.0-trainval";

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

// Throws Error(invalid_argument) for numbers out of range.
void validate(const DemoNuScenesOptions& options) {
  check_options(options);
  if (options.width % 16 == 0 && options.width >= 64 && options.width <= 1600) return;
  throw error_of(ErrorCode::invalid_argument,
                 "demo: the width of the pictures is {} pixels; it must be a multiple of 16 from "
                 "64 to 1600 pixels, because the height is 9/16 of the width",
                 options.width);
}

// Writes the root into `folder`, which is there and empty. The bytes of all files are a function of
// the numbers in `options` and of conversion.seed. Blocks; paints with conversion.num_threads
// threads. Throws Error(io), and Error(cancelled) once conversion.cancel is set; what was written
// by then stays.
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

// The last file that is written into a root that is kept, with the numbers that it was made with.
constexpr const char* kNote = "made_by.txt";

std::string note_of(const DemoNuScenesOptions& options, uint64_t seed) {
  return fmt::format(
      "ffconvert demo --kind nuscenes --scenes {} --val-scenes {} --frames {} --size {} --seed "
      "{}\n",
      options.num_train_scenes, options.num_val_scenes, options.num_keyframes, options.width, seed);
}

// The folder with the root: a temporary one, removed by the destructor, or the user's.
class RootFolder {
 public:
  RootFolder(const DemoNuScenesOptions& options, const ConvertOptions& conversion)
      : note_(note_of(options, conversion.seed)) {
    if (options.root.empty()) {
      make_temporary_folder();
    } else if (!claim(options.root)) {
      return;
    }
    try {
      write_root(path_, options, conversion);
      if (!is_temporary_) write_note();
    } catch (...) {
      // Half a root is of no use. What the user made, the folder, stays.
      std::error_code none;
      for (const fs::directory_entry& entry : fs::directory_iterator(path_, none)) {
        fs::remove_all(entry.path(), none);
      }
      if (is_made_) fs::remove(path_, none);
      throw;
    }
  }
  ~RootFolder() {
    std::error_code none;
    if (is_temporary_) fs::remove_all(path_, none);
  }
  RootFolder(const RootFolder&) = delete;
  RootFolder& operator=(const RootFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  void make_temporary_folder() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    std::string name = (parent / "ffkit-demo-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr) {
      throw io_error_at(parent, "a temporary folder cannot be made here",
                        error ? error.value() : errno)
          .with_remedy(
              "set TMPDIR to a folder with free space, or give a folder for the files with " +
              option_name("root"));
    }
    path_ = name;
    is_temporary_ = true;
    is_made_ = true;
  }

  // False when the folder holds what would be made: a conversion that is begun again uses it.
  bool claim(const fs::path& root) {
    require_local(root);
    path_ = root;
    try {
      is_made_ = fs::create_directories(path_);
      if (is_made_ || fs::is_empty(path_)) return true;
      const fs::path note = path_ / kNote;
      if (fs::is_regular_file(note)) {
        const std::vector<std::byte> bytes = read_whole_file(note);
        if (std::ranges::equal(bytes, std::as_bytes(std::span(note_)))) return false;
      }
    } catch (const fs::filesystem_error& error) {
      throw io_error_at(path_, "the path cannot be used as the folder of " + option_name("root"),
                        error.code().value());
    }
    throw error_at(path_, ErrorCode::invalid_argument,
                   "the folder is not empty, and it does not contain the demo set of these "
                   "options; give {} a new or an empty folder",
                   option_name("root"));
  }

  void write_note() const {
    File file = File::create(path_ / kNote);
    file.write(std::as_bytes(std::span(note_)));
    file.close();
  }

  const std::string note_;
  fs::path path_;
  bool is_temporary_ = false;
  bool is_made_ = false;
};

// The source of the root, but for what depends on where and when the root was written.
class DemoNuScenes final : public Source {
 public:
  DemoNuScenes(const DemoNuScenesOptions& options, const ConvertOptions& conversion)
      : options_(options),
        seed_(conversion.seed),
        root_(options, conversion),
        source_(open_nuscenes(root_.path(), {.version = kVersion, .images = options.images})) {}

  const std::vector<SourceSplit>& splits() const override { return source_->splits(); }
  Schema schema() const override { return source_->schema(); }
  Schema split_schema(size_t split) const override { return source_->split_schema(split); }
  bool has_record_references() const override { return true; }
  const std::vector<std::string>& classes() const override { return source_->classes(); }
  std::vector<fs::path> roots() const override { return source_->roots(); }
  std::map<std::string, std::string> options() const override { return source_->options(); }
  std::vector<SourceInput> inputs(size_t split) const override { return source_->inputs(split); }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = source_->facts(split);
    facts.erase("path");
    facts.erase("license");  // of the real one
    facts["kind"] = "demo nuscenes";
    facts["demo_seed"] = std::to_string(seed_);
    facts["scenes"] = std::to_string(options_.num_train_scenes);
    facts["val_scenes"] = std::to_string(options_.num_val_scenes);
    facts["frames"] = std::to_string(options_.num_keyframes);
    facts["size"] = std::to_string(options_.width);
    return facts;
  }

  SampleIdentity identity(size_t split, int64_t index) const override {
    SampleIdentity identity = source_->identity(split, index);
    identity.modified = 0;
    return identity;
  }

  int64_t sample_bytes(size_t split, int64_t index) const override {
    return source_->sample_bytes(split, index);
  }
  void will_read(size_t split, int64_t index) const override { source_->will_read(split, index); }
  std::string describe(size_t split, int64_t index) const override {
    return source_->describe(split, index);
  }
  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    source_->read(split, index, record, buffers);
  }

 private:
  const DemoNuScenesOptions options_;
  const uint64_t seed_;
  const RootFolder root_;
  const std::unique_ptr<const Source> source_;
};

class NuScenesPart final : public DemoPartOptions {
 public:
  void describe(OptionTable& table) override {
    table.group("Driving that is made (" + option_set("kind", "nuscenes") + ")");
    ffkit::describe(options_, table);
  }

  void refuse(const OptionTable& table, const std::string& why) const override {
    table.refuse({"scenes", "val-scenes", "frames", "root"}, why);
  }

  void check(const OptionTable& table, const std::string& why,
             const DemoOptions& pictures) const override {
    table.refuse({"classes", "images", "val-images"}, why);
    validate(with_width(pictures.size));
  }

  bool keeps_order() const override { return true; }

  std::unique_ptr<Source> open(const SourceArguments& arguments,
                               const DemoOptions& pictures) const override {
    DemoNuScenesOptions options = with_width(pictures.size);
    if (arguments.is_dry_run) options.root.clear();
    options.images = arguments.images;
    return make_demo_nuscenes(options, arguments.conversion);
  }

 private:
  DemoNuScenesOptions with_width(int64_t width) const {
    DemoNuScenesOptions options = options_;
    if (width != 0) options.width = width;
    return options;
  }

  DemoNuScenesOptions options_;
};

}  // namespace
}  // namespace nuscenes::demo

void describe(DemoNuScenesOptions& options, OptionTable& table) {
  table.add("scenes", options.num_train_scenes, "Number of training scenes").set_range(1, 700);
  table
      .add("val-scenes", options.num_val_scenes,
           "Number of validation scenes. 0 means no validation split")
      .set_range(0, 150);
  table.add("frames", options.num_keyframes, "Number of keyframes of a scene, half a second apart")
      .set_range(2, 100);
  table
      .add("root", options.root,
           "New or empty folder for the files in the official layout, which ffconvert keeps")
      .set_stored(false)
      .set_default("a temporary folder below TMPDIR");
}

std::unique_ptr<Source> make_demo_nuscenes(const DemoNuScenesOptions& options,
                                           const ConvertOptions& conversion) {
  nuscenes::demo::validate(options);
  return std::make_unique<nuscenes::demo::DemoNuScenes>(options, conversion);
}

DemoPart nuscenes_demo() {
  return {
      .name = "nuscenes",
      .what = "scenes of driving in nuScenes' layout, with six cameras and a lidar, for detectors",
      .options = make_demo_options<nuscenes::demo::NuScenesPart>};
}

}  // namespace ffkit
