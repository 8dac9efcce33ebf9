// Batches of many fields: the loader's own decoders, and a user's.
#include <ffkit/format/record.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_state.h>

#include "image/views/picture_views.h"
#include "loader_prelude.h"
#include "test_images.h"

namespace ffkit {
namespace {

using testing::make_picture;

Schema decoded_schema() {
  return {{{.name = "front/image", .type = FieldType::image},
           {.name = "back/image", .type = FieldType::image},
           {.name = "speed", .type = FieldType::scalar, .dtype = DType::f32},
           {.name = "pose", .type = FieldType::tensor, .dtype = DType::f64},
           {.name = "points", .type = FieldType::tensor, .dtype = DType::f32},
           {.name = "class", .type = FieldType::scalar, .dtype = DType::u8}}};
}

// The sum of each sample's points and their number, and a drawn number: what a user may want to
// have.
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
    if (!values.empty()) std::memcpy(values.data(), points.data.data(), points.data.size());
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
    DatasetWriter writer(dir_ / name, {.split = "train", .schema = decoded_schema()}, {});
    RecordBuilder builder(writer.schema());
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
      writer.append(testing::encoded(builder));
    }
    writer.finish();
    return Dataset::open(dir_ / name);
  }

  LoaderOptions options(const Dataset& dataset) {
    LoaderOptions out;
    out.batch_size = 6;
    out.num_threads = 2;
    out.sampler = {.tail = Tail::even, .seed = 4};
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
  // As another array, which draws the same numbers.
  with.fields.push_back({"front again", decode_images(dataset.schema(), {"front/image"}, image)});
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
  EXPECT_ERROR(failing.next(), corrupt, .record = 5, .subject = sample);
  Loader again(dataset, with);
  EXPECT_ERROR(again.next(), corrupt, .record = 5, .subject = sample);
  with.bad_samples = BadSamples::skip;
  Loader skipping(dataset, with);
  const auto batch = skipping.next();
  ASSERT_EQ(batch->replacements().size(), 1U);
  EXPECT_EQ(batch->replacements()[0].index_in_batch, 5);
  EXPECT_EQ(batch->replacements()[0].bad_record, 5);
  EXPECT_EQ(values<float>(batch->field("points"))[5 * 3 + 1],
            float(batch->record_indices()[5] + 1));
}

// Says of each sample that it did more than it can have done. Record 5 is bad.
class MuchWork final : public FieldDecoder {
 public:
  explicit MuchWork(int64_t num_reads) : num_reads_(num_reads) {}
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {}; }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }
  void decode(const RecordView& record, const SampleKey&, Scratch* scratch,
              void* out) const override {
    scratch->work.transform_ns += int64_t{1'000'000'000'000};
    scratch->work.num_reads += num_reads_;
    scratch->work.bytes_read += int64_t{1'000'000'000};
    scratch->work.read_wait_ns += int64_t{10'000'000'000'000};
    if (record.scalar<float>(2) * 2 == 5) throw Error(ErrorCode::corrupt, "it is number 5");
    *static_cast<int64_t*>(out) = 0;
  }

 private:
  int64_t num_reads_;
};

TEST_F(FieldDecoderTest, StatisticsCountWhatADecoderSaysItDid) {
  const Dataset dataset = write("data");
  for (const int64_t num_reads : {1, 1000}) {
    LoaderOptions with = options(dataset);
    with.fields = {{"work", std::make_shared<MuchWork>(num_reads)}};
    with.bad_samples = BadSamples::skip;
    with.io.read_ahead_epochs = false;
    Loader loader(dataset, with);
    testing::collect_epoch(loader, 0);
    const LoaderStatistics found = loader.statistics();
    constexpr double kNumDecoded = kNumRecords + 1;  // the bad one as well
    EXPECT_NEAR(found.transform_seconds, 1000 * kNumDecoded, 100);
    EXPECT_NEAR(static_cast<double>(found.num_reads), double(num_reads) * kNumDecoded, 100);
    EXPECT_NEAR(static_cast<double>(found.bytes_read), 1e9 * kNumDecoded, 1e8);
    EXPECT_NEAR(found.read_seconds, 10'000 * kNumDecoded, 100);
    // The time that passed was little; what it says comes off.
    EXPECT_NEAR(found.decode_seconds, -11'000 * kNumDecoded, 100);
    EXPECT_NEAR(found.busy_seconds, -10'000 * kNumDecoded, 100);
  }
}

// [4] numbers in four parts; parts `bad_parts` of record 5 are broken.
class FourParts final : public PartsDecoder {
 public:
  explicit FourParts(std::vector<int64_t> bad_parts = {}, std::latch* meeting = nullptr)
      : bad_parts_(std::move(bad_parts)), meeting_(meeting) {}
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {4}; }
  int64_t num_parts() const override { return 4; }
  void decode_part(const RecordView& record, const SampleKey& key, int64_t part, Scratch*,
                   void* out) const override {
    const auto number = int64_t(record.scalar<float>(2) * 2);
    if (number == 0 && meeting_ != nullptr) meeting_->arrive_and_wait();
    EXPECT_EQ(number, key.record_index);
    if (number == 5 && std::count(bad_parts_.begin(), bad_parts_.end(), part) > 0) {
      throw Error(ErrorCode::corrupt, "part " + std::to_string(part) + " is broken");
    }
    static_cast<int64_t*>(out)[part] = number * 10 + part;
  }

 private:
  std::vector<int64_t> bad_parts_;
  std::latch* meeting_;
};

// The parts of record 0 wait for each other.
TEST_F(FieldDecoderTest, ThreadsShareTheOnlySample) {
  const Dataset dataset = write("data");
  std::latch meeting(4);
  LoaderOptions with = options(dataset);
  with.fields = {{"parts", std::make_shared<FourParts>(std::vector<int64_t>{}, &meeting)}};
  with.batch_size = 1;
  with.memory.prefetch_batches = 1;
  with.num_threads = 4;
  with.io.read_ahead_epochs = false;
  with.sampler.order = Order::sequential;
  Loader loader(dataset, with);
  EXPECT_EQ(values<int64_t>(loader.next()->field("parts")), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_GT(loader.statistics().busy_seconds, 0);
}

TEST_F(FieldDecoderTest, PartsAreTheSameForAnyThreads) {
  const Dataset dataset = write("data");
  LoaderOptions with = options(dataset);
  const ImageOptions image{.transform = RandomResizedCrop{.size = 16},
                           .output = {.dtype = DType::u8, .normalize = false}};
  with.fields.push_back(
      {"both", decode_images(dataset.schema(), {"front/image", "back/image"}, image)});
  with.fields.push_back({"parts", std::make_shared<FourParts>()});
  for (const int64_t batch_size : {1, 6}) {
    with.batch_size = batch_size;
    with.num_threads = 1;
    Loader reference(dataset, with);
    const auto expected = testing::collect_epoch(reference, 1);
    with.num_threads = 5;
    Loader loader(dataset, with);
    EXPECT_EQ(testing::collect_epoch(loader, 1), expected) << batch_size;
    loader.set_epoch(2);
    while (const auto batch = loader.next()) {
      const auto parts = values<int64_t>(batch->field("parts"));
      for (size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i], batch->record_indices()[i / 4] * 10 + int64_t(i % 4));
      }
    }
  }
}

TEST_F(FieldDecoderTest, ErrorsOfPartsAreBadSamples) {
  const Dataset dataset = write("data");
  LoaderOptions with = options(dataset);
  with.num_threads = 4;
  with.sampler.order = Order::sequential;
  with.fields = {{"parts", std::make_shared<FourParts>(std::vector<int64_t>{3, 1})}};
  for (int i = 0; i < 20; ++i) {
    Loader failing(dataset, with);
    EXPECT_ERROR(failing.next(), corrupt, .record = 5, .subject = sample);
  }
  with.bad_samples = BadSamples::skip;
  Loader skipping(dataset, with);
  const auto batch = skipping.next();
  ASSERT_EQ(batch->replacements().size(), 1U);
  EXPECT_EQ(batch->replacements()[0].bad_record, 5);
  const int64_t other = batch->record_indices()[5];
  EXPECT_NE(other, 5);
  EXPECT_EQ(values<int64_t>(batch->field("parts"))[5 * 4 + 3], other * 10 + 3);
}

TEST_F(FieldDecoderTest, OtherShapesAreBadSamples) {
  const Dataset dataset = write("data");
  LoaderOptions with = options(dataset);
  with.fields = {{"points", copy_field(dataset.schema(), "points", {4})}};
  Loader loader(dataset, with);
  EXPECT_ERROR(loader.next(), corrupt, .record = 12, .subject = sample);
}

TEST_F(FieldDecoderTest, RefusesFieldsThatCannotServe) {
  const Schema s = decoded_schema();
  EXPECT_ERROR(decode_image(s, "nope", {}), not_found, .subject = field);
  EXPECT_ERROR(decode_image(s, "pose", {}), invalid_argument);
  EXPECT_ERROR(decode_image(s, "front/image", {.transform = RandomResizedCrop{.size = 0}}),
               invalid_argument);
  EXPECT_ERROR(decode_integer(s, "speed"), invalid_argument);
  EXPECT_ERROR(copy_field(s, "front/image"), invalid_argument);
  EXPECT_ERROR(copy_field(s, "speed", {3}), invalid_argument);
  EXPECT_ERROR(copy_field(s, "pose", {-1}), invalid_argument);
}

TEST(DecodeImages, EachImageHasItsOwnKey) {
  const Schema schema{
      {{.name = "a", .type = FieldType::image}, {.name = "b", .type = FieldType::image}}};
  const auto image = encode_png(make_picture(320, 180, 6).view());
  RecordBuilder builder(schema);
  builder.set_bytes(0, image);
  builder.set_bytes(1, image);
  std::vector<std::byte> record = testing::encoded(builder);
  constexpr ImageOutput kOutput{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};
  const ResizeCrop crop{.size = {40, 60}, .factor_min = 0.3, .factor_max = 0.9, .centered = false};
  const ImageOptions options{.transform = crop, .output = kOutput};
  const auto both = decode_images(schema, {"a", "b"}, options);
  EXPECT_EQ(both->shape(), (std::vector<int64_t>{2, 40, 60, 3}));
  std::vector<uint8_t> pixels(size_t{2} * 40 * 60 * 3);
  const SampleKey key{.seed = 1, .epoch = 2, .record_index = 3};
  const auto scratch = both->make_scratch();
  both->decode(RecordView(schema, record), key, scratch.get(), pixels.data());
  const auto alone = [&](const SampleKey& its_key) {
    std::vector<uint8_t> out(size_t{40} * 60 * 3);
    PipelineTimes times;
    ImagePipeline(options).run(image, its_key, out.data(), times);
    return out;
  };
  auto expected = alone(key);
  const auto second = alone(image_key(key, 1));
  EXPECT_NE(expected, second);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(pixels, expected);
  EXPECT_ERROR(decode_images(schema, {"a", "c"}, options), not_found, .subject = field);
}

}  // namespace
}  // namespace ffkit
