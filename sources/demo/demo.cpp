#include <fmt/format.h>

#include <ffkit/sources/demo.h>

#include "converter/input/splitmix.h"
#include "demo/demo_painter.h"
#include "demo/demo_sample.h"
#include "pictures/image_sample.h"

namespace ffkit {
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

}  // namespace

std::unique_ptr<Source> make_demo(const DemoOptions& options, const ConvertOptions& conversion) {
  return std::make_unique<DemoSource>(options, conversion.seed);
}

}  // namespace ffkit
