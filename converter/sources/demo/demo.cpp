#include <fmt/format.h>

#include <utility>

#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

#include "input/splitmix.h"
#include "sources/demo/demo_painter.h"
#include "sources/demo/demo_sample.h"
#include "sources/pictures/image_sample.h"

namespace ffkit {
namespace {

class DemoSource : public Source {
 public:
  explicit DemoSource(const DemoOptions& options) : options_(options), storer_(options.images) {
    check_options(options);
    if (options.size < 16 || options.size > 2048) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("demo: the size is {}; it must be 16 .. 2048", options.size));
    }
    splits_.push_back({.name = "train", .num_samples = options.num_train, .is_training = true});
    if (options.num_val > 0) splits_.push_back({.name = "val", .num_samples = options.num_val});
    for (int64_t label = 0; label < options.num_classes; ++label) {
      classes_.push_back(fmt::format("class{:04}", label));
      class_names_.push_back(demo_class_name(label));
    }
  }

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return image_classification_schema(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::vector<std::filesystem::path> roots() const override { return {}; }
  int64_t sample_bytes(size_t, int64_t) const override { return 0; }

  std::map<std::string, std::string> facts(size_t) const override {
    return {{"kind", "demo"},
            {"demo_seed", std::to_string(options_.seed)},
            {"size", std::to_string(options_.size)}};
  }

  std::map<std::string, std::string> options() const override {
    return manifest_options(options_.images);
  }

  std::string describe(size_t split, int64_t index) const override {
    return fmt::format("demo: {}/{}", splits_.at(split).name, id(index));
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    SplitMix random = demo_random(options_.seed, split, index);
    const std::vector<uint8_t> pixels = paint_demo_picture(label(index), options_.size, random);
    const std::span<std::byte> image = encode_demo_picture(pixels, options_.size, buffers);
    set_image_sample(record, image, label(index), buffers.text(id(index)), describe(split, index),
                     storer_, buffers);
  }

 private:
  int64_t label(int64_t index) const { return index % options_.num_classes; }
  std::string id(int64_t index) const {
    return fmt::format("class{:04}/{:08}.jpg", label(index), index);
  }

  const DemoOptions options_;
  const ImageStorer storer_;
  std::vector<SourceSplit> splits_;
  std::vector<std::string> classes_;
  std::vector<std::string> class_names_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<Source> make_demo(const DemoOptions& options) {
  return std::make_unique<DemoSource>(options);
}

}  // namespace ffkit
