// Texts of any length in a batch: copy_string(), and decoders of texts of a user's own.
#include "loader_prelude.h"

namespace ffkit {
namespace {

using ::testing::ElementsAreArray;

using Texts = std::vector<std::optional<std::string>>;

const Schema kTextSchema{{{.name = "n", .type = FieldType::scalar, .dtype = DType::i64},
                          {.name = "text", .type = FieldType::string}}};

class TextFields : public ::testing::Test {
 protected:
  Dataset make_texts(const char* name, const Texts& texts) {
    DatasetWriter writer(dir_ / name, {.split = "train", .schema = kTextSchema});
    RecordBuilder builder(kTextSchema);
    for (size_t i = 0; i < texts.size(); ++i) {
      builder.set_scalar<int64_t>(0, static_cast<int64_t>(i));
      if (texts[i]) builder.set_string(1, *texts[i]);
      writer.append(testing::encoded(builder));
    }
    writer.finish();
    return Dataset::open(dir_ / name);
  }
  static LoaderOptions options(const Dataset& dataset, int64_t max_bytes = 0) {
    LoaderOptions out;
    out.batch_size = 4;
    out.num_threads = 3;
    out.sampler = {.order = Order::sequential, .tail = Tail::even};
    out.image_field = "";
    out.label_field = "n";
    out.fields = {{"text", copy_string(dataset.schema(), "text", max_bytes)}};
    out.on_warning = [](std::string_view) {};
    return out;
  }
  // Of one epoch, in its order; the array and the offsets must say the same.
  static std::vector<std::string> texts_of(Loader& loader) {
    std::vector<std::string> out;
    while (const std::optional<Batch> batch = loader.next()) {
      EXPECT_TRUE(batch->has_rows(batch->num_fields() - 1));
      std::string joined;
      std::vector<int64_t> offsets = {0};
      for (const std::string_view text : batch->strings("text")) {
        out.emplace_back(text);
        joined += text;
        offsets.push_back(std::ssize(joined));
      }
      EXPECT_THAT(batch->row_offsets("text"), ElementsAreArray(offsets));
      const BatchArray array = batch->field("text");
      EXPECT_EQ(array.dtype, DType::u8);
      EXPECT_THAT(array.shape, ElementsAre(std::ssize(joined)));
      EXPECT_NE(array.data, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data) % 4096, 0U);
      EXPECT_EQ(std::string_view(static_cast<const char*>(array.data), array.num_bytes()), joined);
    }
    return out;
  }

  testing::TempDir dir_;
};

std::string text_of(int64_t number) {
  const int64_t num_bytes = number % 7 == 3 ? 660 : number * 37 % 50;
  return std::string(static_cast<size_t>(num_bytes), static_cast<char>('a' + number % 26));
}

TEST_F(TextFields, HaveNoLimit) {
  Texts texts(40);
  std::vector<std::string> expected;
  for (int64_t i = 0; i < 40; ++i) {
    expected.push_back(i == 21 ? std::string(300'000, 'x') : text_of(i));
    texts[static_cast<size_t>(i)] = expected.back();
  }
  const Dataset dataset = make_texts("train", texts);
  for (const BadSamples bad : {BadSamples::fail, BadSamples::skip}) {
    LoaderOptions both = options(dataset);
    both.bad_samples = bad;
    Loader loader(dataset, both);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {  // slabs are used again
      loader.set_epoch(epoch);
      EXPECT_EQ(texts_of(loader), expected);
    }
    EXPECT_EQ(loader.statistics().num_replaced, 0);
  }
}

TEST_F(TextFields, BeyondMaxBytesAreBadSamples) {
  const Dataset dataset =
      make_texts("train", {"a", "bb", std::string(660, 'x'), "ccc", std::string(256, 'y')});
  LoaderOptions both = options(dataset, 256);
  Loader failing(dataset, both);
  EXPECT_ERROR(failing.next(), unsupported, .record = 2, .subject = sample);
  both.bad_samples = BadSamples::skip;
  Loader skipping(dataset, both);
  const std::optional<Batch> batch = skipping.next();
  ASSERT_EQ(batch->replacements().size(), 1U);
  EXPECT_EQ(batch->replacements()[0].index_in_batch, 2);
  EXPECT_EQ(batch->replacements()[0].bad_record, 2);
  EXPECT_THAT(batch->replacements()[0].reason, HasSubstr("a text of 660 bytes"));
  const std::vector<std::string_view> texts = batch->strings("text");
  EXPECT_EQ(texts[0], "a");
  EXPECT_EQ(texts[1], "bb");
  EXPECT_LE(texts[2].size(), 256U);
  EXPECT_EQ(texts[3], "ccc");
}

TEST_F(TextFields, AllBeyondMaxBytesSayWhy) {
  const Dataset dataset = make_texts("train", Texts(40, "too long"));
  LoaderOptions skip = options(dataset, 7);
  skip.bad_samples = BadSamples::skip;
  Loader loader(dataset, skip);
  EXPECT_ERROR(loader.next(), corrupt, .record = 0);
}

TEST_F(TextFields, TakeNoRoomInSlabs) {
  const Dataset shorts = make_texts("short", Texts(40, "a"));
  const int64_t bound = Loader(shorts, options(shorts)).memory_bound();
  LoaderOptions many = options(shorts);
  for (const char* name : {"b", "c", "d"}) {
    many.fields.push_back({name, copy_string(shorts.schema(), "text", int64_t{1} << 40)});
  }
  EXPECT_EQ(Loader(shorts, many).memory_bound(), bound);
}

TEST_F(TextFields, NullIsEmptyAlsoInAChain) {
  testing::make_numbers(dir_ / "others", 2);
  const Dataset dataset = Dataset::chain(
      {make_texts("train", {"a", std::nullopt, ""}), Dataset::open(dir_ / "others")});
  Loader loader(dataset, options(dataset));
  EXPECT_THAT(texts_of(loader), ElementsAre("a", "", "", "", ""));
  const Dataset none = make_texts("none", Texts(6));
  Loader empty(none, options(none));
  EXPECT_THAT(texts_of(empty), ElementsAre("", "", "", "", "", ""));
}

TEST_F(TextFields, CopiesOutliveTheLoader) {
  std::vector<Batch> copies;
  {
    const Dataset dataset = make_texts("train", {"a", std::string(9000, 'b'), "", "c", "d"});
    Loader loader(dataset, options(dataset));
    while (const std::optional<Batch> batch = loader.next()) copies.push_back(batch->copy());
  }
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_THAT(copies[0].strings("text"), ElementsAre("a", std::string(9000, 'b'), "", "c"));
  EXPECT_THAT(copies[0].copy().row_offsets("text"), ElementsAre(0, 1, 9001, 9001, 9002));
  EXPECT_THAT(copies[1].strings("text"), ElementsAre("d"));
  EXPECT_TRUE(Batch().copy().record_indices().empty());
}

// The number behind the text, made in the scratch.
class Numbered final : public TextDecoder {
 public:
  struct Memory final : Scratch {
    std::string text;
  };
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Memory>(); }
  std::string_view decode_text(const RecordView& record, const SampleKey&,
                               Scratch* scratch) const override {
    std::string& text = static_cast<Memory*>(scratch)->text;
    text = fmt::format("{} {}", record.string(1), record.scalar<int64_t>(0));
    return text;
  }
};

// Two parts, so that threads share a sample; those of odd samples are bad.
class OddIsBad final : public PartsDecoder {
 public:
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {2}; }
  int64_t num_parts() const override { return 2; }
  void decode_part(const RecordView& record, const SampleKey&, int64_t part, Scratch*,
                   void* out) const override {
    if (record.scalar<int64_t>(0) % 2 == 1) throw Error(ErrorCode::corrupt, "odd");
    static_cast<uint8_t*>(out)[part] = 1;
  }
};

TEST_F(TextFields, OfDecodersOfOnesOwnAndOfReplacements) {
  Texts all(40);
  for (size_t i = 0; i < all.size(); ++i) all[i] = std::string(i * 30, 'x');
  const Dataset dataset = make_texts("train", all);
  LoaderOptions skip = options(dataset);
  skip.bad_samples = BadSamples::skip;
  skip.fields.insert(skip.fields.begin(), {"bad", std::make_shared<OddIsBad>()});
  skip.fields.insert(skip.fields.begin(), {"numbered", std::make_shared<Numbered>()});
  Loader loader(dataset, skip);
  int64_t num_samples = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    const std::vector<std::string_view> numbered = batch->strings("numbered");
    const std::vector<std::string_view> texts = batch->strings("text");
    for (size_t i = 0; i < texts.size(); ++i, ++num_samples) {
      const int64_t record = batch->record_indices()[i];
      EXPECT_EQ(record % 2, 0);
      EXPECT_EQ(texts[i], *all[static_cast<size_t>(record)]);
      EXPECT_EQ(numbered[i], fmt::format("{} {}", texts[i], record));
    }
  }
  EXPECT_EQ(num_samples, 40);
  EXPECT_EQ(loader.statistics().num_replaced, 20);
}

}  // namespace
}  // namespace ffkit
