// FFRecord v1 files as others may write them: with records that have no bytes.
#include <ffkit/format/record.h>

#include "io/read_plan.h"
#include "loader_prelude.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

// The bytes of the record, and how many they are.
class RawBytes final : public RowsDecoder {
 public:
  DType dtype() const override { return DType::u8; }
  std::vector<int64_t> shape() const override { return {}; }
  int64_t max_rows() const override { return 16; }
  int64_t decode_rows(const RecordView& record, const SampleKey&, Scratch*,
                      void* out) const override {
    const auto bytes = record.bytes(0);
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    return std::ssize(bytes);
  }
};

const std::vector<std::string>& records() {
  static const std::vector<std::string> kRecords = {"", "1234567890", "",  "abcdefghij",
                                                    "", "",           "x", ""};
  return kRecords;
}

class LoaderV1Test : public ::testing::TestWithParam<IoOptions> {
 protected:
  LoaderV1Test() {
    testing::write_v1_file(dir_ / "PART_00000.ffr", records());
    dataset_.emplace(Dataset::open(dir_ / "PART_00000.ffr"));
  }
  void SetUp() override {
    try {
      read({0});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }

  // One batch of these records, in this order.
  std::vector<std::string> read(const std::vector<int64_t>& chosen) const {
    LoaderOptions options;
    options.batch_size = std::ssize(chosen);
    options.num_threads = 1;
    options.memory.prefetch_batches = 1;
    options.sampler = {.order = Order::sequential, .tail = Tail::exact};
    options.image_field = options.label_field = "";
    options.fields = {{"bytes", std::make_shared<RawBytes>()}};
    options.io = GetParam();
    options.bad_samples = BadSamples::skip;
    options.io.read_ahead_epochs = false;
    Loader loader(dataset_->subset(chosen), options);
    const auto batch = loader.next();
    EXPECT_TRUE(batch->replacements().empty());
    const auto ends = batch->row_offsets("bytes");
    const auto* text = static_cast<const char*>(batch->field("bytes").data);
    std::vector<std::string> found;
    for (size_t i = 0; i < chosen.size(); ++i) {
      found.emplace_back(text + ends[i], static_cast<size_t>(ends[i + 1] - ends[i]));
    }
    return found;
  }

  testing::TempDir dir_;
  std::optional<Dataset> dataset_;
};

TEST_P(LoaderV1Test, RecordsWithoutBytesAreReadInAnyCompany) {
  std::vector<std::vector<int64_t>> choices = {{3, 2, 1, 0}, {2, 3, 2}, {7, 6, 5, 4, 3, 2, 1, 0}};
  const auto num_records = std::ssize(records());
  for (int64_t i = 0; i < num_records; ++i) {
    choices.push_back({i});
    for (int64_t k = 0; k < num_records; ++k) choices.push_back({i, k});
  }
  for (const auto& choice : choices) {
    std::vector<std::string> expected;
    for (const int64_t i : choice) expected.push_back(records()[static_cast<size_t>(i)]);
    ASSERT_EQ(read(choice), expected) << ::testing::PrintToString(choice);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Engines, LoaderV1Test,
    ::testing::Values(IoOptions{.engine = IoEngine::automatic, .decoders_read_cache = false},
                      IoOptions{.engine = IoEngine::pread, .decoders_read_cache = false},
                      IoOptions{.engine = IoEngine::automatic, .decoders_read_cache = true},
                      IoOptions{.engine = IoEngine::pread, .direct = DirectIo::on}));

// Every read covers the records that it is for, whatever records of any length stand where in the
// batch.
TEST(ReadPlanV1, ReadsCoverTheirRecords) {
  const testing::TempDir dir;
  testing::write_v1_file(dir / "PART_00000.ffr", records());
  const Dataset dataset = Dataset::open(dir / "PART_00000.ffr");
  std::vector<int64_t> order = {0, 1, 2, 3, 4, 5, 6, 7};
  ReadPlan plan;
  for (int round = 0; round < 2000; ++round) {
    std::ranges::next_permutation(order);
    for (const size_t count : {2U, 3U, 8U}) {
      plan_reads(dataset, std::span(order).first(count), round % 2 == 0 ? 1 : 4, 12, plan);
      size_t num_served = 0;
      for (const PlannedRead& read : plan.reads) {
        for (int64_t i = read.first; i < read.first + read.count; ++i, ++num_served) {
          const auto at = static_cast<size_t>(plan.indices_in_batch[static_cast<size_t>(i)]);
          const RecordLocation& record = plan.samples[at].location.record;
          ASSERT_GE(record.offset, read.offset);
          ASSERT_LE(record.offset + record.stored_bytes, read.offset + read.num_bytes);
        }
      }
      ASSERT_EQ(num_served, count);
    }
  }
}

}  // namespace
}  // namespace ffkit
