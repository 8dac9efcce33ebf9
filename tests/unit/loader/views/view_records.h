// What the tests of views share: a data set whose pictures have masks, boxes and points.
#pragma once

#include "loader_prelude.h"

namespace ffkit {

// Pictures of (60 + 7 i) x 50 pixels. Their masks, tensors, have the id i everywhere; box j of the
// picture is (5 j, 4 j, 10, 8), its label 100 i + j, its two points the corners.
class ViewsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kNumRecords = 6;
  static constexpr int64_t kNumBoxes = 4;

  static Schema schema() {
    return {{{.name = "image", .type = FieldType::image},
             {.name = "depth", .type = FieldType::image},
             {.name = "label", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
             {.name = "mask", .type = FieldType::tensor, .dtype = DType::i32},
             {.name = "boxes", .type = FieldType::tensor, .dtype = DType::f64},
             {.name = "labels", .type = FieldType::tensor, .dtype = DType::i64},
             {.name = "points", .type = FieldType::tensor, .dtype = DType::f32}}};
  }

  void SetUp() override { testing::write_split(dir_ / "train", schema(), kNumRecords, record); }

  static std::vector<std::byte> record(int64_t i) {
    const int width = 60 + 7 * static_cast<int>(i);
    const auto image =
        encode_jpeg(testing::make_picture(width, 50, static_cast<uint32_t>(i)).view());
    const std::vector<int32_t> mask(static_cast<size_t>(width) * 50, static_cast<int32_t>(i));
    std::vector<double> boxes;
    std::vector<int64_t> labels;
    std::vector<float> points;
    for (int j = 0; j < kNumBoxes; ++j) {
      boxes.insert(boxes.end(), {5.0 * j, 4.0 * j, 10, 8});
      labels.push_back(100 * i + j);
      for (const float k : {0.F, 1.F}) {
        points.insert(points.end(), {5.F * static_cast<float>(j) + 10 * k,
                                     4.F * static_cast<float>(j) + 8 * k, 1 + k});
      }
    }
    const Schema fields = schema();
    RecordBuilder builder(fields);
    const auto at = [&](const char* name) { return fields.require(name); };
    builder.set_bytes(at("image"), image);
    builder.set_bytes(at("depth"), image);
    builder.set_scalar<int64_t>(at("label"), i);
    builder.set_tensor(at("mask"), {DType::i32, {50, width}, std::as_bytes(std::span(mask))});
    builder.set_tensor(at("boxes"), {DType::f64, {kNumBoxes, 4}, std::as_bytes(std::span(boxes))});
    builder.set_tensor(at("labels"), {DType::i64, {kNumBoxes}, std::as_bytes(std::span(labels))});
    builder.set_tensor(at("points"),
                       {DType::f32, {kNumBoxes, 2, 3}, std::as_bytes(std::span(points))});
    return testing::encoded(builder);
  }

  static LoaderOptions options_of(std::vector<View> views, std::vector<ViewField> fields) {
    LoaderOptions options;
    options.batch_size = 3;
    options.num_threads = 2;
    options.sampler = {.order = Order::sequential, .seed = 7};
    options.image = {.transform = RandomResizedCrop{.size = 24}};
    options.views = std::move(views);
    options.view_fields = std::move(fields);
    return options;
  }

  Dataset dataset() const { return Dataset::open(dir_ / "train"); }

  testing::TempDir dir_;
};

template <typename T>
std::vector<T> values_of(const BatchArray& array) {
  std::vector<T> values(array.num_bytes() / sizeof(T));
  std::memcpy(values.data(), array.data, array.num_bytes());
  return values;
}

}  // namespace ffkit
