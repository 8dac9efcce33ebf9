// Made-up people before a known camera, one in each picture.
#include <fmt/format.h>

#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>
#include <ffkit/format/option_names.h>
#include <ffkit/pose/person_record.h>

#include "sources/demo/demo_sample.h"
#include "sources/demo/figure_painter.h"
#include "sources/persons/person_values.h"

namespace ffkit {
namespace {

class DemoPose : public Source {
 public:
  explicit DemoPose(const DemoPoseOptions& options) : options_(options), storer_(options.images) {
    if (options.size < 32 || options.size > 2048) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("demo: the size is {}; it must be 32 .. 2048", options.size));
    }
    splits_.push_back({.name = "train", .num_samples = options.num_train, .is_training = true});
    if (options.num_val > 0) splits_.push_back({.name = "val", .num_samples = options.num_val});
  }

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return person_schema(); }
  int64_t sample_bytes(size_t, int64_t) const override { return 0; }

  std::map<std::string, std::string> facts(size_t split) const override {
    return {{"kind", "demo"},
            {pose::kSetFact, "demo"},
            {pose::kValidRootsFact, std::to_string(splits_.at(split).num_samples)},
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
    const Figure figure = draw_figure(options_.size, random);
    const auto side = static_cast<double>(options_.size);
    const auto box = pose::person_box(figure.box, side, side);
    const std::vector<uint8_t> pixels = paint_figure(figure, options_.size, random);
    const std::span<std::byte> image = encode_demo_picture(pixels, options_.size, buffers);
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
    // Kept in the buffers, since the record points to them until it is encoded.
    const auto kept = [&buffers](const auto& values) {
      using T = typename std::decay_t<decltype(values)>::value_type;
      const std::span<std::byte> bytes = buffers.bytes(values.size() * sizeof(T));
      auto* out = reinterpret_cast<T*>(bytes.data());
      std::ranges::copy(values, out);
      return std::span<const T>(out, values.size());
    };
    set_person({.image = stored.bytes,
                .image_id = index,
                .annotation_id = index,
                .width = options_.size,
                .height = options_.size,
                .box = box.value(),
                .annotated = figure.box,
                .camera = figure.camera,
                .root_image = pose::camera_to_pixel(root, figure.camera),
                .root_camera = root,
                .visible = 1,
                .has_depth = true,
                .joints = kept(joints),
                .picture_roots = kept(root),
                .id = id(index)},
               record, buffers);
  }

 private:
  static std::string id(int64_t index) { return fmt::format("{:08}.jpg#{}", index, index); }

  const DemoPoseOptions options_;
  const ImageStorer storer_;
  std::vector<SourceSplit> splits_;
};

}  // namespace

std::unique_ptr<Source> make_demo_pose(const DemoPoseOptions& options) {
  return std::make_unique<DemoPose>(options);
}

}  // namespace ffkit
