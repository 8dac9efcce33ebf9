// Large records of which a batch needs little: the fields that its decoders name are read, and
// nothing else.
#include "loader_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kNumKeyframes = 120;
constexpr int64_t kFirst = 40'000;  // bytes of the first field; the last one has as many
constexpr std::array<int64_t, 1> kNine = {9};

Schema wide_schema() {
  return Schema{{{.name = "first", .type = FieldType::tensor, .dtype = DType::u8},
                 {.name = "number", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
                 {.name = "nine", .type = FieldType::tensor, .dtype = DType::f32},
                 {.name = "last", .type = FieldType::tensor, .dtype = DType::u8}}};
}

std::vector<std::byte> wide_record(const Schema& schema, int64_t i) {
  const std::vector<std::byte> bytes(kFirst, static_cast<std::byte>(i));
  std::array<float, 9> nine{};
  for (size_t k = 0; k < nine.size(); ++k)
    nine[k] = static_cast<float>(i) + 0.5F * static_cast<float>(k);
  RecordBuilder builder(schema);
  builder.set_tensor(0, {DType::u8, {kFirst}, bytes});
  builder.set_scalar(1, i);
  builder.set_tensor(2, {DType::f32, {9}, std::as_bytes(std::span(nine))});
  builder.set_tensor(3, {DType::u8, {kFirst}, bytes});
  return testing::encoded(builder);
}

class FieldReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Schema schema = wide_schema();
    testing::write_split(dir_ / "train", schema, kNumKeyframes,
                         [&](int64_t i) { return wide_record(schema, i); });
  }
  LoaderOptions options_of(const std::vector<BatchField>& fields) const {
    LoaderOptions options;
    options.batch_size = 8;
    options.num_threads = 2;
    options.image_field = "";
    options.label_field = "";
    options.fields = fields;
    options.sampler.tail = Tail::exact;
    options.io.read_ahead_epochs = false;
    return options;
  }
  std::vector<BatchField> copies(const std::vector<std::string>& names) const {
    std::vector<BatchField> fields;
    for (const std::string& name : names) {
      const std::vector<int64_t> shape =
          name == "nine" ? std::vector<int64_t>{9} : std::vector{kFirst};
      fields.push_back({name, name == "number" ? copy_field(wide_schema(), name)
                                               : copy_field(wide_schema(), name, shape)});
    }
    return fields;
  }
  // Of an epoch.
  int64_t bytes_read(Loader& loader, int64_t epoch) {
    collect_epoch(loader, epoch);
    return loader.statistics().bytes_read;
  }
  int64_t all_bytes() { return Dataset::open(dir_ / "train").manifest().record_bytes(); }

  testing::TempDir dir_;
};

TEST_F(FieldReadsTest, OneFieldCostsItsPages) {
  for (const IoEngine engine : {IoEngine::automatic, IoEngine::pread}) {
    for (const DirectIo direct : {DirectIo::off, DirectIo::automatic}) {
      for (const bool verify : {true, false}) {
        LoaderOptions options = options_of(copies({"nine", "number"}));
        options.io.engine = engine;
        options.io.direct = direct;
        options.io.verify_checksums = verify;
        Loader loader(Dataset::open(dir_ / "train"), options);
        for (const CollectedBatch& batch : collect_epoch(loader, 0)) {
          for (size_t i = 0; i < batch.record_indices.size(); ++i) {
            std::array<float, 9> nine;
            std::memcpy(nine.data(), batch.fields[0].data() + i * sizeof(nine), sizeof(nine));
            EXPECT_EQ(nine[3], static_cast<float>(batch.record_indices[i]) + 1.5F);
            int64_t number = 0;
            std::memcpy(&number, batch.fields[1].data() + i * sizeof(number), sizeof(number));
            EXPECT_EQ(number, batch.record_indices[i]);
          }
        }
        // The head, and at most two pages for what lies between two tensors.
        EXPECT_LE(loader.statistics().bytes_read, kNumKeyframes * 3 * 4096);
      }
    }
  }
}

TEST_F(FieldReadsTest, ALoaderThatNeedsNearlyAllReadsWholeRecords) {
  const Dataset dataset = Dataset::open(dir_ / "train");
  LoaderOptions options = options_of(copies({"first", "nine", "last"}));
  options.io.decoders_read_cache = false;
  Loader loader(dataset, options);
  const int64_t first = bytes_read(loader, 0);
  const int64_t num_reads = loader.statistics().num_reads;
  EXPECT_GE(first, all_bytes() - 32 * 4096);
  EXPECT_LE(bytes_read(loader, 1) - first, all_bytes() + kNumKeyframes * 4096);
  EXPECT_LE(loader.statistics().num_reads - num_reads, kNumKeyframes);
}

TEST_F(FieldReadsTest, BatchesAreTheSameWithBothWaysOfReading) {
  const Dataset dataset = Dataset::open(dir_ / "train");
  class Any final : public FieldDecoder {  // which names no fields: all records are read whole
   public:
    DType dtype() const override { return DType::u8; }
    std::vector<int64_t> shape() const override { return {}; }
    void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
      std::memcpy(out, record.tensor(0).data.data(), 1);
    }
  };
  std::vector<BatchField> with_any = copies({"last", "nine"});
  with_any.push_back({"any", std::make_shared<Any>()});
  Loader whole(dataset, options_of(with_any));
  Loader some(dataset, options_of(copies({"last", "nine"})));
  const auto expected = collect_epoch(whole, 3);
  const auto actual = collect_epoch(some, 3);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].record_indices, expected[i].record_indices);
    EXPECT_TRUE(actual[i].fields[0] == expected[i].fields[0]);
    EXPECT_TRUE(actual[i].fields[1] == expected[i].fields[1]);
  }
  EXPECT_LE(some.statistics().bytes_read, all_bytes() * 2 / 3);
  EXPECT_GE(whole.statistics().bytes_read, all_bytes());
}

// A decoder that reads a field which it does not name.
class Liar final : public FieldDecoder {
 public:
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {}; }
  std::optional<std::vector<size_t>> inputs() const override { return {{2}}; }
  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    std::memcpy(out, record.tensor(3).data.data(), 1);
  }
};

TEST_F(FieldReadsTest, AFieldThatNobodyNamesIsRefused) {
  Loader loader(Dataset::open(dir_ / "train"), options_of({{"liar", std::make_shared<Liar>()}}));
  loader.set_epoch(0);
  try {
    loader.next();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.context().name, "last");
  }
}

TEST_F(FieldReadsTest, DamageIsFoundInTheFieldsThatAreRead) {
  const auto damage = [&](int64_t record, int64_t offset) {
    const Dataset dataset = Dataset::open(dir_ / "train");
    const auto location = dataset.locate(record);
    testing::flip_bit(dataset.shard(0).path(), location.record.offset + offset);
  };
  damage(7, kFirst + 100);  // in "nine"
  damage(9, 2 * kFirst);    // in "last"
  damage(11, 3);            // in the table: "first" ends elsewhere
  LoaderOptions options = options_of(copies({"nine"}));
  options.bad_samples = BadSamples::skip;
  Loader loader(Dataset::open(dir_ / "train"), options);
  loader.set_epoch(0);
  std::vector<int64_t> bad;
  while (const auto batch = loader.next()) {
    for (const Replacement& replaced : batch->replacements()) bad.push_back(replaced.bad_record);
  }
  EXPECT_THAT(bad, ::testing::UnorderedElementsAre(7, 11));
}

TEST_F(FieldReadsTest, AChainFindsTheFieldsOfEachSource) {
  const Schema narrow{{{.name = "nine", .type = FieldType::tensor, .dtype = DType::f32},
                       {.name = "other", .type = FieldType::tensor, .dtype = DType::u8}}};
  testing::write_split(dir_ / "narrow", narrow, 40, [&](int64_t i) {
    const std::vector<std::byte> bytes(kFirst, static_cast<std::byte>(i));
    std::array<float, 9> nine{};
    nine[3] = static_cast<float>(i) - 1000;
    RecordBuilder builder(narrow);
    builder.set_tensor(0, {DType::f32, {9}, std::as_bytes(std::span(nine))});
    builder.set_tensor(1, {DType::u8, {kFirst}, bytes});
    return testing::encoded(builder);
  });
  const Dataset chain =
      Dataset::chain({Dataset::open(dir_ / "train"), Dataset::open(dir_ / "narrow")});
  LoaderOptions options = options_of({{"nine", copy_field(chain.schema(), "nine", {9})}});
  Loader loader(chain, options);
  for (const CollectedBatch& batch : collect_epoch(loader, 0)) {
    for (size_t i = 0; i < batch.record_indices.size(); ++i) {
      std::array<float, 9> nine;
      std::memcpy(nine.data(), batch.fields[0].data() + i * sizeof(nine), sizeof(nine));
      const int64_t record = batch.record_indices[i];
      EXPECT_EQ(nine[3], record < kNumKeyframes
                             ? static_cast<float>(record) + 1.5F
                             : static_cast<float>(record - kNumKeyframes) - 1000);
    }
  }
  EXPECT_LE(loader.statistics().bytes_read, (kNumKeyframes + 40) * 3 * 4096);
}

}  // namespace
}  // namespace ffkit
