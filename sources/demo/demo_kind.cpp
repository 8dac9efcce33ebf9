#include <memory>
#include <string>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/demo.h>

#include "demo/demo_painter.h"
#include "demo_nuscenes/root_writer.h"

namespace ffkit {

void describe(DemoOptions& options, OptionTable& table) {
  table
      .add("size", options.size,
           "Width and height in pixels. Of nuscenes: width, a multiple of 16 from 64 to 1600")
      .set_range(16, 2048);
  table.group("Pictures that are made");
  table.add("classes", options.num_classes, "Number of classes").set_range(2, kMaxDemoClasses);
  table.add("images", options.num_train, "Number of training pictures").set_range(1, 100'000'000);
  table.add("val-images", options.num_val, "Number of validation pictures; 0: no validation split")
      .set_range(0, 100'000'000);
}

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

namespace {

class DemoKind final : public SourceOptions {
 public:
  void describe(OptionTable& table) override {
    table
        .add(
            "kind", kind_,
            "What is made. pictures: pictures of classes; nuscenes: scenes of driving in nuScenes' "
            "layout, with six cameras and a lidar, for detectors; pose: figures of people before "
            "a known camera, for RootNet")
        .set_choices({"pictures", "nuscenes", "pose"});
    ffkit::describe(pictures_, table);
    table.find("size")->set_unset(0, "64; of pose 128; of nuscenes 320");
    table.group("Driving that is made (" + option_set("kind", "nuscenes") + ")");
    ffkit::describe(driving_, table);
  }

  void check(const OptionTable& table) const override {
    const std::string why = "has no effect with " + option_set("kind", kind_) + "; leave it out";
    if (kind_ == "pose") table.refuse({"classes"}, why);
    if (kind_ != "nuscenes") return table.refuse({"scenes", "val-scenes", "frames", "root"}, why);
    table.refuse({"classes", "images", "val-images"}, why);
    nuscenes::demo::validate(driving());
  }

  bool keeps_order() const override { return kind_ == "nuscenes"; }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    if (kind_ == "nuscenes") {
      DemoNuScenesOptions options = driving();
      if (arguments.is_dry_run) options.root.clear();
      options.images = arguments.images;
      return make_demo_nuscenes(options, arguments.conversion);
    }
    if (kind_ == "pose") {
      return make_demo_pose({.num_train = pictures_.num_train,
                             .num_val = pictures_.num_val,
                             .size = size_or(DemoPoseOptions().size),
                             .images = arguments.images},
                            arguments.conversion);
    }
    DemoOptions options = pictures_;
    options.size = size_or(DemoOptions().size);
    options.images = arguments.images;
    return make_demo(options, arguments.conversion);
  }

 private:
  int64_t size_or(int64_t size_of_kind) const {
    return pictures_.size != 0 ? pictures_.size : size_of_kind;
  }

  DemoNuScenesOptions driving() const {
    DemoNuScenesOptions options = driving_;
    options.width = size_or(options.width);
    return options;
  }

  std::string kind_ = "pictures";
  DemoOptions pictures_{.size = 0};  // 0: the size is the kind's default
  DemoNuScenesOptions driving_;
};

}  // namespace

SourceKind demo_kind() {
  return {.name = "demo",
          .description =
              "Made-up data that a model can learn, for trying things out: pictures of "
              "classes, a nuScenes set, or people",
          .example =
              "/tmp/demo --classes 10 --images 2000\n"
              "  ffconvert demo /tmp/driving --kind nuscenes --scenes 60 --val-scenes 12",
          .options = make_source_options<DemoKind>,
          .needs_path = false,
          .pictures = PictureUse::all,
          .place = 90};
}

}  // namespace ffkit
