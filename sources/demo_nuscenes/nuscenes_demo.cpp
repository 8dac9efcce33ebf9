#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include <ffkit/base/option_names.h>
#include <ffkit/sources/demo.h>
#include <ffkit/sources/nuscenes.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "demo/demo_parts.h"
#include "demo_nuscenes/root_writer.h"

namespace ffkit {
namespace nuscenes::demo {
namespace {

namespace fs = std::filesystem;

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
      throw io_error_at(
          parent,
          "no temporary folder can be made here; let TMPDIR name a folder with room, or "
          "keep the files with " +
              option_name("root"),
          error ? error.value() : errno);
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
      throw io_error_at(path_, "cannot be the folder of " + option_name("root"),
                        error.code().value());
    }
    throw error_at(path_, ErrorCode::invalid_argument,
                   "is not empty, and does not hold the demo set of these options; give {} a new "
                   "or an empty folder",
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
           "Number of validation scenes; 0: no validation split")
      .set_range(0, 150);
  table.add("frames", options.num_keyframes, "Number of keyframes of a scene, half a second apart")
      .set_range(2, 100);
  table
      .add("root", options.root,
           "A new or empty folder that keeps the files in the official layout")
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
