#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include <ffkit/format/error.h>

#include "field_decoders.h"
#include "record_reader.h"

namespace ffkit::nuscenes {
namespace {

constexpr int64_t kBoxColumns = 9;

// Boxes, or their classes: both choose alike.
class BoxDecoder final : public RowsDecoder {
 public:
  BoxDecoder(const Schema& schema, const BoxOptions& options, const BevAugmentation& bev,
             bool is_classes)
      : options_(options),
        bev_(bev),
        is_classes_(is_classes),
        boxes_(schema.require(keyframe::kBoxLidar)),
        classes_(schema.require(keyframe::kBoxClass)),
        valid_(schema.require(keyframe::kBoxValid)) {}
  DType dtype() const override { return is_classes_ ? DType::i64 : DType::f32; }
  std::vector<int64_t> shape() const override {
    if (is_classes_) return {};
    return {kBoxColumns};
  }
  int64_t max_rows() const override { return options_.max_boxes; }
  RowLayout layout() const override { return options_.layout; }

  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch*,
                      void* out) const override {
    const TensorView boxes = record.tensor(boxes_);
    const TensorView classes = record.tensor(classes_);
    const TensorView valid = record.tensor(valid_);
    const auto count = static_cast<int64_t>(valid.data.size());
    if (boxes.shape != std::vector<int64_t>{count, kBoxColumns} || boxes.dtype != DType::f32 ||
        classes.shape != std::vector<int64_t>{count} || classes.dtype != DType::i64) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("the boxes have shape [{}], their classes [{}], and there are {} "
                              "valid flags",
                              fmt::join(boxes.shape, ", "), fmt::join(classes.shape, ", "), count));
    }
    const DrawnBev drawn = draw(bev_, key);
    auto* to = static_cast<std::byte*>(out);
    int64_t num_rows = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      int64_t class_number = 0;
      std::memcpy(&class_number, classes.data.data() + at * sizeof(int64_t), sizeof(int64_t));
      if (options_.only_valid && valid.data[at] == std::byte{0}) continue;
      if (options_.only_classes && class_number < 0) continue;
      if (num_rows == options_.max_boxes) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("a keyframe has more than {} boxes; raise BoxOptions::max_boxes",
                                options_.max_boxes));
      }
      ++num_rows;
      if (is_classes_) {
        std::memcpy(to, &class_number, sizeof(class_number));
        to += sizeof(class_number);
        continue;
      }
      std::array<float, kBoxColumns> box{};
      std::memcpy(box.data(), boxes.data.data() + at * sizeof(box), sizeof(box));
      box = drawn(box);
      if (options_.zero_unknown_velocity && std::isnan(box[7] + box[8])) box[7] = box[8] = 0;
      std::memcpy(to, box.data(), sizeof(box));
      to += sizeof(box);
    }
    return num_rows;
  }

 private:
  BoxOptions options_;
  BevAugmentation bev_;
  bool is_classes_;
  size_t boxes_;
  size_t classes_;
  size_t valid_;
};

}  // namespace

void add_box_fields(const Schema& schema, const BoxOptions& options, const BevAugmentation& bev,
                    std::vector<BatchField>& fields) {
  if (!options.is_on) return;
  if (options.max_boxes < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("max_boxes is {}, must be at least 1", options.max_boxes));
  }
  fields.push_back({"boxes", std::make_shared<BoxDecoder>(schema, options, bev, false)});
  fields.push_back({"box_classes", std::make_shared<BoxDecoder>(schema, options, bev, true)});
}

}  // namespace ffkit::nuscenes
