// Batches of many fields: the loader's own decoders, and a user's.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/error.h>
#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "expect_error.h"
#include "temp_dir.h"
#include "test_images.h"

namespace ffkit {
namespace {

Schema schema() {
  return {{{.name = "front/image", .type = FieldType::image},
           {.name = "back/image", .type = FieldType::image},
           {.name = "speed", .type = FieldType::scalar, .dtype = DType::f32},
           {.name = "pose", .type = FieldType::tensor, .dtype = DType::f64},
           {.name = "points", .type = FieldType::tensor, .dtype = DType::f32},
           {.name = "class", .type = FieldType::scalar, .dtype = DType::u8}}};
}

// The sum of each sample's points and their number, and a drawn number: what a user may want to have.
class PointSummary final : public FieldDecoder {
 public:
  PointSummary(const Schema& schema, std::shared_ptr<std::atomic<int>> num_scratches)
      : field_(schema.require("points")), num_scratches_(std::move(num_scratches)) {}

  struct Sums final : Scratch {
    std::vector<float> values;
  };
  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override { return {3}; }
  std::unique_ptr<Scratch> make_scratch() const override {
    ++*num_scratches_;
    return std::make_unique<Sums>();
  }
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    const TensorView points = record.tensor(field_);
    auto& values = static_cast<Sums*>(scratch)->values;
    values.resize(points.data.size() / sizeof(float));
    std::memcpy(values.data(), points.data.data(), points.data.size());
    if (values.empty()) throw Error(ErrorCode::corrupt, "there are no points");
    const float summary[] = {std::accumulate(values.begin(), values.end(), 0.0F),
                             static_cast<float>(values.size()),
                             static_cast<float>(CounterRandom(key, 200).uniform())};
    std::memcpy(out, summary, sizeof(summary));
  }

 private:
  size_t field_;
  std::shared_ptr<std::atomic<int>> num_scratches_;
};

class FieldDecoderTest : public ::testing::Test {
 protected:
  static constexpr int64_t kNumRecords = 20;

  // Record `i` has i points of value i, but number `without_points` none.
  Dataset write(const char* name, int64_t without_points = -1) {
    DatasetWriter writer(dir_ / name, {.split = "train", .schema = schema()}, {});
    RecordBuilder builder(writer.schema());
    std::vector<std::byte> record;
    for (int64_t i = 0; i < kNumRecords; ++i) {
      const auto front = encode_jpeg(testing::make_picture(40, 30, uint32_t(i)).view());
      const auto back = encode_jpeg(testing::make_picture(40, 30, uint32_t(i + 100)).view());
      const std::vector<double> pose = {double(i), 1, 2, 3, 4, 5};
      const std::vector<float> points(i == without_points ? 0 : size_t(i + 1), float(i));
      builder.set_bytes(0, front);
      builder.set_bytes(1, back);
      builder.set_scalar<float>(2, float(i) / 2);
      builder.set_tensor(3, {DType::f64, {2, 3}, std::as_bytes(std::span(pose))});
      builder.set_tensor(4,
                         {DType::f32, {int64_t(points.size())}, std::as_bytes(std::span(points))});
      builder.set_scalar<uint8_t>(5, uint8_t(i % 3));
      builder.encode(record);
      writer.append(record);
    }
    writer.finish();
    return Dataset::open(dir_ / name);
  }

  LoaderOptions options(const Dataset& dataset) {
    LoaderOptions out;
    out.batch_size = 6;
    out.num_threads = 2;
    out.sampler = {.tail = Tail::exact, .seed = 4};
    out.image_field = "";
    out.label_field = "class";
    const ImageOptions image{.transform = RandomResizedCrop{.size = 16},
                             .output = {.dtype = DType::u8, .normalize = false}};
    const Schema& s = dataset.schema();
    out.fields = {{"front", decode_image(s, "front/image", image)},
                  {"back", decode_image(s, "back/image", image)},
                  {"speed", copy_field(s, "speed")},
                  {"pose", copy_field(s, "pose", {2, 3})},
                  {"points", std::make_shared<PointSummary>(s, num_scratches_)}};
    return out;
  }

  testing::TempDir dir_;
  std::shared_ptr<std::atomic<int>> num_scratches_ = std::make_shared<std::atomic<int>>(0);
};

template <typename T>
std::vector<T> values(const BatchArray& array) {
  std::vector<T> out(array.num_bytes() / sizeof(T));
  std::memcpy(out.data(), array.data, array.num_bytes());
  return out;
}

TEST_F(FieldDecoderTest, BatchesHoldAllFieldsOfTheirRecords) {
  const Dataset dataset = write("data");
  Loader loader(dataset, options(dataset));
  int64_t num_samples = 0;
  while (const auto batch = loader.next()) {
    EXPECT_EQ(batch->num_fields(), 6U);
    EXPECT_EQ(batch->images(), nullptr);
    const auto front = batch->field("front");
    EXPECT_EQ(std::vector<int64_t>(front.shape.begin(), front.shape.end()),
              (std::vector<int64_t>{batch->size(), 3, 16, 16}));
    const auto speed = values<float>(batch->field("speed"));
    const auto pose = values<double>(batch->field("pose"));
    const auto points = values<float>(batch->field("points"));
    for (size_t i = 0; i < size_t(batch->size()); ++i) {
      const int64_t record = batch->record_indices()[i];
      EXPECT_EQ(batch->labels()[i], record % 3);
      EXPECT_EQ(speed[i], float(record) / 2);
      EXPECT_EQ(pose[i * 6], double(record));
      EXPECT_EQ(pose[i * 6 + 5], 5);
      EXPECT_EQ(points[i * 3], float(record * (record + 1)));
      EXPECT_EQ(points[i * 3 + 1], float(record + 1));
      EXPECT_EQ(points[i * 3 + 2], float(CounterRandom({4, 0, record}, 200).uniform()));
    }
    num_samples += batch->size();
  }
  EXPECT_EQ(num_samples, kNumRecords);
  EXPECT_EQ(*num_scratches_, 2) << "one for each thread";
}

TEST_F(FieldDecoderTest, BatchesAreTheSameForAnyThreads) {
  const Dataset dataset = write("data");
  LoaderOptions with = options(dataset);
  Loader reference(dataset, with);
  const auto expected = testing::collect_epoch(reference, 1);
  for (int num_threads : {1, 4}) {
    with.num_threads = num_threads;
    Loader loader(dataset, with);
    EXPECT_EQ(testing::collect_epoch(loader, 1), expected) << num_threads;
  }
}

TEST_F(FieldDecoderTest, ImagesOfARecordAreCroppedAlike) {
  const Dataset dataset = write("data");
  LoaderOptions with = options(dataset);
  const ImageOptions image{.transform = RandomResizedCrop{.size = 16},
                           .output = {.dtype = DType::u8, .normalize = false}};
  with.fields.push_back({"front again", decode_image(dataset.schema(), "front/image", image)});
  Loader loader(dataset, with);
  const auto batch = loader.next();
  EXPECT_EQ(values<uint8_t>(batch->field("front")), values<uint8_t>(batch->field("front again")));
  EXPECT_NE(values<uint8_t>(batch->field("front")), values<uint8_t>(batch->field("back")));
}

TEST_F(FieldDecoderTest, ErrorsOfAUsersDecoderAreBadSamples) {
  const Dataset dataset = write("data", 5);
  LoaderOptions with = options(dataset);
  with.sampler.order = Order::sequential;
  Loader failing(dataset, with);
  EXPECT_ERROR(failing.next(), corrupt, "shard-00000.ffr: record 5: ");
  Loader again(dataset, with);
  EXPECT_ERROR(again.next(), corrupt, "there are no points");
  with.bad_samples = BadSamples::skip;
  Loader skipping(dataset, with);
  const auto batch = skipping.next();
  ASSERT_EQ(batch->replacements().size(), 1U);
  EXPECT_EQ(batch->replacements()[0].position, 5);
  EXPECT_EQ(batch->replacements()[0].bad_record, 5);
  EXPECT_EQ(values<float>(batch->field("points"))[5 * 3 + 1],
            float(batch->record_indices()[5] + 1));
}

TEST_F(FieldDecoderTest, OtherShapesAreBadSamples) {
  const Dataset dataset = write("data");
  LoaderOptions with = options(dataset);
  with.fields = {{"points", copy_field(dataset.schema(), "points", {4})}};
  Loader loader(dataset, with);
  EXPECT_ERROR(loader.next(), corrupt, "but the batch takes [4]");
}

TEST_F(FieldDecoderTest, RefusesFieldsThatCannotServe) {
  const Schema s = schema();
  EXPECT_ERROR(decode_image(s, "nope", {}), not_found, "nope");
  EXPECT_ERROR(decode_image(s, "pose", {}), invalid_argument,
               "field 'pose' is a tensor of f64; expected an image");
  EXPECT_ERROR(decode_image(s, "front/image", {.transform = RandomResizedCrop{.size = 0}}),
               invalid_argument, "size is 0");
  EXPECT_ERROR(decode_integer(s, "speed"), invalid_argument,
               "a scalar of f32; expected an integer");
  EXPECT_ERROR(copy_field(s, "front/image"), invalid_argument, "expected a scalar or a tensor");
  EXPECT_ERROR(copy_field(s, "speed", {3}), invalid_argument, "expected a tensor");
  EXPECT_ERROR(copy_field(s, "pose", {-1}), invalid_argument, "must not be negative");
}

}  // namespace
}  // namespace ffkit
