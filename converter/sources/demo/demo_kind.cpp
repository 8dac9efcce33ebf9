#include <fmt/format.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>

#include "sources/demo/demo_painter.h"
#include "sources/demo_nuscenes/root_writer.h"

namespace ffkit {

void describe(DemoOptions& options, OptionTable& table) {
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
    table
        .add("size", size_,
             "Width and height in pixels. Of nuscenes: width, a multiple of 16 from 64 to 1600")
        .set_range(16, 2048)
        .set_unset(0, "64; of pose 128; of nuscenes 320");
    table.group("Pictures that are made");
    ffkit::describe(pictures_, table);
    table.group("Driving that is made (" + option_set("kind", "nuscenes") + ")");
    ffkit::describe(driving_, table);
  }

  void check(const OptionTable& table) const override {
    const auto refuse_any = [&](std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) {
        if (!table.is_given(name)) continue;
        const std::string option = table.find(name)->key();
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} has no effect with {}; leave it out", option_name(option),
                                option_set("kind", kind_)),
                    {.subject = ErrorSubject::argument, .name = option});
      }
    };
    if (kind_ == "pose") refuse_any({"classes"});
    if (kind_ != "nuscenes") return refuse_any({"scenes", "val-scenes", "frames", "root"});
    refuse_any({"classes", "images", "val-images"});
    nuscenes::demo::validate(driving({}));
  }

  bool keeps_order() const override { return kind_ == "nuscenes"; }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    if (kind_ == "nuscenes") return make_demo_nuscenes(driving(arguments));
    if (kind_ == "pose") {
      return make_demo_pose({.num_train = pictures_.num_train,
                             .num_val = pictures_.num_val,
                             .size = size_ != 0 ? size_ : DemoPoseOptions().size,
                             .seed = arguments.seed,
                             .images = arguments.images});
    }
    DemoOptions options = pictures_;
    if (size_ != 0) options.size = size_;
    options.seed = arguments.seed;
    options.images = arguments.images;
    return make_demo(options);
  }

 private:
  DemoNuScenesOptions driving(const SourceArguments& arguments) const {
    DemoNuScenesOptions options = driving_;
    if (size_ != 0) options.width = size_;
    if (arguments.is_dry_run) options.root.clear();
    options.seed = arguments.seed;
    options.num_threads = arguments.num_threads;
    options.cancel = arguments.cancel;
    options.images = arguments.images;
    return options;
  }

  std::string kind_ = "pictures";
  int64_t size_ = 0;  // 0: the default of the kind
  DemoOptions pictures_;
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
