#include <cmath>
#include <cstring>

#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "field_decoders.h"
#include "record_reader.h"

namespace ffkit::nuscenes {
namespace {

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
    return {std::tuple_size_v<StoredBoxes::Numbers>};
  }
  int64_t max_rows() const override { return options_.max_boxes; }
  RowLayout layout() const override { return options_.layout; }

  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch*,
                      void* out) const override {
    const StoredBoxes stored(record.field(classes_), record.field(valid_), record.field(boxes_));
    const DrawnBev drawn = draw(bev_, key);
    auto* to = static_cast<std::byte*>(out);
    int64_t num_rows = 0;
    for (int64_t i = 0; i < stored.size(); ++i) {
      if (!stored.passes(i, options_)) continue;
      StoredBoxes::Numbers box = drawn(stored.numbers(i));
      if (!is_in_range(box, options_)) continue;
      if (num_rows == options_.max_boxes) {
        throw error_of(ErrorCode::unsupported,
                       "a keyframe has more than {} boxes; raise max_boxes of the BoxOptions",
                       options_.max_boxes);
      }
      ++num_rows;
      if (is_classes_) {
        const int64_t class_number = stored.class_number(i);
        std::memcpy(to, &class_number, sizeof(class_number));
        to += sizeof(class_number);
        continue;
      }
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
  validate(options);
  fields.push_back({"boxes", std::make_shared<BoxDecoder>(schema, options, bev, false)});
  fields.push_back({"box_classes", std::make_shared<BoxDecoder>(schema, options, bev, true)});
}

}  // namespace ffkit::nuscenes
