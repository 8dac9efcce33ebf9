#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/sources/demo.h>

#include "base/left_out.h"
#include "demo/demo_parts.h"
#include "pictures/image_sample.h"

namespace ffkit {

void describe(DemoOptions& options, OptionTable& table) {
  table
      .add("size", options.size,
           "Width and height of the pictures, in pixels. With the kind nuscenes, this is only the "
           "width, and it must be a multiple of 16 from 64 to 1600")
      .set_range(16, 2048);
  table.group("Pictures that are made");
  table.add("classes", options.num_classes, "Number of classes").set_range(2, kMaxDemoClasses);
  table.add("images", options.num_train, "Number of training pictures").set_range(1, 100'000'000);
  table
      .add("val-images", options.num_val,
           "Number of validation pictures. 0 means no validation split")
      .set_range(0, 100'000'000);
}

std::map<std::string, std::string> DemoPictures::facts(size_t) const {
  return {{"kind", "demo"}, {"demo_seed", std::to_string(seed_)}, {"size", std::to_string(size_)}};
}

std::map<std::string, std::string> DemoPictures::options() const {
  return manifest_options(storer_.storage());
}

std::string DemoPictures::describe(size_t split, int64_t index) const {
  return fmt::format("demo: {}/{}", infos_.at(split).name, id(index));
}

std::optional<std::string> DemoPictures::listed_id(size_t, int64_t index) const {
  return id(index);
}

SplitMix DemoPictures::random(size_t split, int64_t index) const {
  // Hashed, since nearby states of SplitMix give overlapping sequences.
  const auto number = 2 * static_cast<uint64_t>(index) + static_cast<uint64_t>(split);
  return SplitMix(SplitMix(seed_).next() ^ SplitMix(number).next());
}

std::span<std::byte> DemoPictures::encode(const std::vector<uint8_t>& pixels,
                                          SampleBuffers& buffers) const {
  const auto side = static_cast<int>(size_);
  const std::vector<std::byte> jpeg =
      encode_jpeg({.data = pixels.data(), .width = side, .height = side, .stride = 3 * side});
  const std::span<std::byte> image = buffers.bytes(jpeg.size());
  std::copy(jpeg.begin(), jpeg.end(), image.begin());
  return image;
}

namespace {

class DemoSource : public DemoPictures {
 public:
  DemoSource(const DemoOptions& options, uint64_t seed)
      : DemoPictures(options, seed), num_classes_(options.num_classes) {
    check_options(options);
    for (int64_t label = 0; label < num_classes_; ++label) {
      classes_.push_back(fmt::format("class{:04}", label));
      class_names_.push_back(demo_class_name(label));
    }
  }

  Schema schema() const override { return image_classification_schema(); }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    SplitMix drawn = random(split, index);
    const std::span<std::byte> image =
        encode(paint_demo_picture(label(index), size_, drawn), buffers);
    set_image_sample(record, image, label(index), buffers.text(id(index)), describe(split, index),
                     storer_, buffers);
  }

 private:
  int64_t label(int64_t index) const { return index % num_classes_; }
  std::string id(int64_t index) const override {
    return fmt::format("class{:04}/{:08}.jpg", label(index), index);
  }

  const int64_t num_classes_;
};

constexpr const char* kPictures = "pictures";

class DemoKind final : public SourceOptions {
 public:
  DemoKind() {
    for (const DemoPart& part : demo_parts()) parts_.push_back({part, part.options()});
  }

  void describe(OptionTable& table) override {
    std::string what = "Kind of data. 'pictures' makes pictures of classes";
    std::vector<std::string> kinds = {kPictures};
    for (const Part& part : parts_) {
      what += fmt::format(". '{}' makes {}", part.kind.name, part.kind.what);
      kinds.emplace_back(part.kind.name);
    }
    for (const std::string& name : left_out_names("kind of demo")) {
      what += fmt::format(". '{}' is left out of this build", name);
    }
    table.add("kind", kind_, what).set_choices(kinds).set_left_out("kind of demo");
    ffkit::describe(pictures_, table);
    table.find("size")->set_unset(0, "64, 128 for pose, 320 for nuscenes");
    for (const Part& part : parts_) part.options->describe(table);
  }

  void check(const OptionTable& table) const override {
    const std::string why = "has no effect with " + option_set("kind", kind_) + "; leave it out";
    if (const DemoPartOptions* made = part_made()) made->check(table, why, pictures_);
    for (const Part& part : parts_) {
      if (part.kind.name != kind_) part.options->refuse(table, why);
    }
  }

  bool keeps_order() const override {
    const DemoPartOptions* made = part_made();
    return made != nullptr && made->keeps_order();
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments) const override {
    if (const DemoPartOptions* made = part_made()) return made->open(arguments, pictures_);
    DemoOptions options = pictures_;
    if (options.size == 0) options.size = DemoOptions().size;
    options.images = arguments.images;
    return make_demo(options, arguments.conversion);
  }

 private:
  struct Part {
    DemoPart kind;
    std::unique_ptr<DemoPartOptions> options;
  };

  // Null for pictures of classes.
  const DemoPartOptions* part_made() const {
    const auto part =
        std::ranges::find_if(parts_, [&](const Part& one) { return one.kind.name == kind_; });
    return part == parts_.end() ? nullptr : part->options.get();
  }

  std::string kind_ = kPictures;
  DemoOptions pictures_{.size = 0};  // 0: the size is the kind's default
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Source> make_demo(const DemoOptions& options, const ConvertOptions& conversion) {
  return std::make_unique<DemoSource>(options, conversion.seed);
}

SourceKind demo_kind() {
  return {.name = "demo",
          .description =
              "Artificial data that a model can learn, for tests: pictures of classes, a nuScenes "
              "data set, or people",
          .example =
              "/tmp/demo --classes 10 --images 2000\n"
              "  ffconvert demo /tmp/driving --kind nuscenes --scenes 60 --val-scenes 12",
          .options = make_source_options<DemoKind>,
          .needs_path = false,
          .pictures = PictureUse::all,
          .place = 90};
}

}  // namespace ffkit
