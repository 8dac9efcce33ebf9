// Records of hostile sizes: what a loader takes for them is bounded, and said.
#include "decode/chunk_decoder.h"
#include "loader_prelude.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

constexpr int64_t kMega = 1 << 20;

// The size of the record's bytes; counts how many are decoded at once.
class SizeDecoder final : public FieldDecoder {
 public:
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {}; }
  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const int now = ++num_at_once_;
    int before = most_at_once;
    while (before < now && !most_at_once.compare_exchange_weak(before, now)) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // so that others come along
    *static_cast<int64_t*>(out) = std::ssize(record.bytes(0));
    --num_at_once_;
  }
  mutable std::atomic<int> most_at_once = 0;

 private:
  mutable std::atomic<int> num_at_once_ = 0;
};

class RecordMemoryTest : public ::testing::Test {
 protected:
  LoaderOptions options() const {
    LoaderOptions out;
    out.batch_size = 4;
    out.num_threads = 6;
    out.sampler = {.order = Order::sequential, .tail = Tail::even};
    out.image_field = out.label_field = "";
    out.fields = {{"size", decoder_}};
    out.bad_samples = BadSamples::skip;
    return out;
  }

  // Records of zeros, which compress to nearly nothing, behind bytes that do not compress.
  Dataset make_zeros(const std::vector<int64_t>& sizes, int64_t max_record_bytes,
                     int64_t num_random = 0) const {
    const Schema schema{{{.name = "data", .type = FieldType::bytes}}};
    DatasetWriter writer(dir_ / "zeros", {.split = "train", .schema = schema},
                         {.compression = {.level = 1}});
    RecordBuilder builder(schema);
    for (const int64_t size : sizes) {
      std::vector<std::byte> zeros(static_cast<size_t>(size));
      std::mt19937 random(1);
      std::generate_n(zeros.begin(), num_random, [&] { return static_cast<std::byte>(random()); });
      builder.set_bytes(0, zeros);
      writer.append(testing::encoded(builder));
    }
    writer.finish();
    return Dataset::open(dir_ / "zeros", "", {.max_record_bytes = max_record_bytes});
  }

  testing::TempDir dir_;
  std::shared_ptr<SizeDecoder> decoder_ = std::make_shared<SizeDecoder>();
};

TEST_F(RecordMemoryTest, LargeRecordsAreDecompressedAsFewAtATimeAsTheLimitSays) {
  const Dataset dataset = make_zeros(std::vector<int64_t>(8, 6 * kMega), 7 * kMega);
  Loader loader(dataset, options());
  int64_t num_samples = 0;
  while (const auto batch = loader.next()) {
    for (int64_t i = 0; i < batch->size(); ++i, ++num_samples) {
      EXPECT_EQ(static_cast<const int64_t*>(batch->field("size").data)[i], 6 * kMega);
    }
  }
  EXPECT_EQ(num_samples, 8);
  EXPECT_LE(decoder_->most_at_once, 2);
  EXPECT_GE(loader.memory_bound(), 14 * kMega + options().io.max_bytes_in_flight);
}

// A thread holds both the stored bytes and the decompressed ones.
TEST_F(RecordMemoryTest, RecordThatHardlyCompressesIsReadFromThePageCache) {
  const Dataset dataset = make_zeros({6 * kMega}, 6 * kMega + 100, 5 * kMega);
  LoaderOptions cached = options();
  cached.io.decoders_read_cache = true;
  Loader loader(dataset, cached);
  EXPECT_EQ(*static_cast<const int64_t*>(loader.next()->field("size").data), 6 * kMega);
}

TEST_F(RecordMemoryTest, ARecordAboveTheLimitIsNamedOrReplaced) {
  const Dataset dataset = make_zeros({1000, 2000, 100'000, 3000}, 64 << 10);
  for (const bool cached : {false, true}) {
    LoaderOptions both = options();
    both.io.decoders_read_cache = cached;
    // ThreadSanitizer does not see how spdlog, a library as it comes, is set up.
    both.io.read_ahead_epochs = false;
    Loader skipping(dataset, both);
    EXPECT_EQ(skipping.next()->replacements().size(), 1U);
    both.bad_samples = BadSamples::fail;
    Loader failing(dataset, both);
    EXPECT_ERROR(failing.next(), unsupported, .record = 2, .subject = sample);
  }
}

// A sparse file that costs its author nothing.
TEST_F(RecordMemoryTest, HugeV1RecordIsNeverAllocated) {
  std::ofstream(dir_ / "PART_00000.ffr", std::ios::binary) << testing::v1_bytes({"a", "b"}, false);
  std::filesystem::resize_file(dir_ / "PART_00000.ffr", uintmax_t{100} << 30);
  const Dataset dataset = Dataset::open(dir_ / "PART_00000.ffr");
  for (const IoEngine engine : {IoEngine::automatic, IoEngine::pread}) {
    LoaderOptions both = options();
    both.io.engine = engine;
    both.bad_samples = BadSamples::fail;
    Loader loader(dataset, both);
    EXPECT_ERROR(loader.next(), unsupported, .record = 1, .subject = sample);
    EXPECT_LT(loader.memory_bound(), int64_t{2} << 30);
  }
}

TEST(RecordMemory, MakesThreadsWaitForEachOther) {
  RecordMemory memory(10);
  std::atomic<int64_t> used = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        const int64_t wanted = 1 + (i + round) % 10;
        memory.take(wanted);
        EXPECT_LE(used += wanted, 10);
        used -= wanted;
        memory.give_back(wanted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ffkit
