// Made-up people before a known camera, one in each picture.
#include <fmt/format.h>

#include <ffkit/base/option_names.h>
#include <ffkit/pose/person_record.h>
#include <ffkit/sources/demo.h>

#include "base/make_error.h"
#include "converter/input/sample_arrays.h"
#include "demo/demo_sample.h"
#include "demo/figure_painter.h"
#include "persons/person_values.h"

namespace ffkit {
namespace {

class DemoPose : public DemoPictures {
 public:
  DemoPose(const DemoPoseOptions& options, uint64_t seed) : DemoPictures(options, seed) {
    if (size_ < 32 || size_ > 2048) {
      throw error_of(ErrorCode::invalid_argument, "demo: the size is {}; it must be 32 .. 2048",
                     size_);
    }
  }

  Schema schema() const override { return person_schema(); }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = DemoPictures::facts(split);
    facts[pose::kSetFact] = "demo";
    facts[pose::kValidRootsFact] = std::to_string(infos_.at(split).num_samples);
    return facts;
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    SplitMix drawn = random(split, index);
    const Figure figure = draw_figure(size_, drawn);
    const auto side = static_cast<double>(size_);
    const auto box = pose::person_box(figure.box, side, side);
    const std::span<std::byte> image = encode(paint_figure(figure, size_, drawn), buffers);
    const ImageStorer::Stored stored = storer_.store(image, id(index), buffers);
    if (stored.size != stored.original) {
      throw Error(ErrorCode::invalid_argument,
                  "pictures of persons are not resized, since boxes and joints would not fit; give "
                  "a smaller " +
                      option_name("size") + " instead");
    }
    std::array<float, 3 * kFigureJoints> joints{};
    for (size_t i = 0; i < kFigureJoints; ++i) {
      const pose::Point3 at = pose::camera_to_pixel(figure.joints[i], figure.camera);
      const bool is_inside = at[0] >= 0 && at[0] < side && at[1] >= 0 && at[1] < side;
      joints[3 * i] = static_cast<float>(at[0]);
      joints[3 * i + 1] = static_cast<float>(at[1]);
      joints[3 * i + 2] = is_inside ? 1.0F : 0.0F;
    }
    const pose::Point3& root = figure.joints[kFigureRoot];
    // Copied, since the record points to them until it is encoded.
    set_person({.image = stored.bytes,
                .image_id = index,
                .annotation_id = index,
                .width = size_,
                .height = size_,
                .box = box.value(),
                .annotated = figure.box,
                .camera = figure.camera,
                .root_image = pose::camera_to_pixel(root, figure.camera),
                .root_camera = root,
                .visible = 1,
                .has_depth = true,
                .joints = array_copy<float>(buffers, joints),
                .picture_roots = array_copy<double>(buffers, root),
                .id = id(index)},
               record, buffers);
  }

 private:
  std::string id(int64_t index) const override { return fmt::format("{:08}.jpg#{}", index, index); }
};

}  // namespace

std::unique_ptr<Source> make_demo_pose(const DemoPoseOptions& options,
                                       const ConvertOptions& conversion) {
  return std::make_unique<DemoPose>(options, conversion.seed);
}

}  // namespace ffkit
