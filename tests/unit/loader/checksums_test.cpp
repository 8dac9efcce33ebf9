// A damaged record is noticed however it is read: alone, in a read that neighbours share, twice in
// a batch, from the page cache, into memory that the kernel knows, or in place of another record.
#include "base/bytes/pickle.h"
#include "loader_prelude.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

constexpr int64_t kNumRecords = 64;
constexpr int64_t kDamaged = 22;

// Of a picture's data, where no decoder sees it.
void flip_bit_of_record(const Dataset& dataset, int64_t record_index) {
  const auto location = dataset.locate(record_index);
  testing::flip_bit(dataset.shard(location.shard_index).path(),
                    location.record.offset + location.record.stored_bytes / 2);
}

// Reads with pread(2), when it is waited for.
class SimpleEngine final : public ReadEngine {
 public:
  using Read = std::function<int64_t(int descriptor, const ReadRequest&)>;
  SimpleEngine(std::vector<ReadFile> files, Read read)
      : files_(std::move(files)), read_(std::move(read)) {}
  std::string description() const override { return "simple"; }
  int num_in_flight() const override { return static_cast<int>(requests_.size()); }
  void submit(const ReadRequest& request) override { requests_.push_back(request); }
  std::span<const ReadCompletion> wait(int /*wanted*/) override {
    completions_.clear();
    for (const ReadRequest& request : requests_) {
      const int descriptor = files_[static_cast<size_t>(request.file)].descriptor;
      completions_.push_back({request.tag, read_(descriptor, request)});
    }
    requests_.clear();
    return completions_;
  }

 private:
  std::vector<ReadFile> files_;
  Read read_;
  std::vector<ReadRequest> requests_;
  std::vector<ReadCompletion> completions_;
};

IoOptions by_engine_of_the_user(const SimpleEngine::Read& read) {
  IoOptions io;
  io.make_engine = [read](const std::vector<ReadFile>& files, const ReadEngineOptions&) {
    return std::make_unique<SimpleEngine>(files, read);
  };
  return io;
}

struct Way {
  std::string name;
  IoOptions io;
};

std::vector<Way> ways() {
  std::vector<Way> out;
  for (const IoEngine engine : {IoEngine::automatic, IoEngine::pread}) {
    for (const DirectIo direct : {DirectIo::off, DirectIo::on}) {
      const std::string name = std::string(engine == IoEngine::pread ? "pread" : "automatic") +
                               (direct == DirectIo::on ? ", direct" : "");
      const IoOptions io{.engine = engine, .direct = direct, .decoders_read_cache = false};
      out.push_back({name, io});
      IoOptions small = io;
      small.max_bytes_in_flight = 64 << 10;  // the ring is used up, and registered, at once
      out.push_back({name + ", a small ring", small});
    }
  }
  out.push_back({"by the decoders", {.direct = DirectIo::off, .decoders_read_cache = true}});
  out.push_back({"an engine of the user's",
                 by_engine_of_the_user([](int descriptor, const ReadRequest& request) -> int64_t {
                   return pread(descriptor, request.buffer, request.num_bytes, request.offset);
                 })});
  return out;
}

// Where what is read counts, and not how.
std::vector<Way> two_ways() {
  const std::vector<Way> all = ways();
  return {all.front(), *std::ranges::find(all, "by the decoders", &Way::name)};
}

LoaderOptions checking(const IoOptions& io) {
  LoaderOptions options;
  options.batch_size = 16;
  options.num_threads = 2;
  options.memory.prefetch_batches = 1;
  options.image.transform = ResizeCenterCrop{.resize = 8, .size = 8};
  options.sampler = {.order = Order::sequential, .tail = Tail::even};
  options.on_warning = [](std::string_view) {};
  options.io = io;
  return options;
}

class ChecksumsTest : public ::testing::Test {
 protected:
  // The epoch fails at the damaged record, in both epochs, and says so; without checksums nothing
  // is noticed.
  static void expect_noticed(const Dataset& dataset, const Way& way, bool is_seen_without = false) {
    LoaderOptions options = checking(way.io);
    try {
      Loader loader(dataset, options);
      for (int64_t epoch = 0; epoch < 2; ++epoch) {
        loader.set_epoch(epoch);
        EXPECT_ERROR(rest_of(loader), corrupt, .record = 22, .subject = sample) << way.name;
      }
      if (is_seen_without) return;
      options.io.verify_checksums = false;
      Loader trusting(dataset, options);
      EXPECT_EQ(rest_of(trusting), dataset.num_records()) << way.name;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;  // no O_DIRECT here
    }
  }
  // The number of samples.
  static int64_t rest_of(Loader& loader) {
    int64_t num_samples = 0;
    while (const auto batch = loader.next()) num_samples += batch->size();
    return num_samples;
  }
  // 64 small records of one shard, of which one is damaged.
  Dataset damaged(const CompressionOptions& compression = {}, size_t padding_bytes = 0) {
    Dataset dataset = testing::make_dataset(dir_ / "train", {.num_records = kNumRecords,
                                                             .num_shards = 1,
                                                             .padding_bytes = padding_bytes,
                                                             .compression = compression});
    flip_bit_of_record(dataset, kDamaged);
    return dataset;
  }

  testing::TempDir dir_;
};

TEST_F(ChecksumsTest, OfRecordsThatShareARead) {
  const Dataset dataset = damaged();
  for (const Way& way : ways()) expect_noticed(dataset, way);
  Loader loader(dataset, checking(ways().front().io));
  EXPECT_ERROR(rest_of(loader), corrupt, .record = 22, .subject = sample);
  EXPECT_LT(loader.statistics().num_reads, kNumRecords / 4) << "neighbours share reads";
}

TEST_F(ChecksumsTest, OfRecordsThatAreReadAlone) {
  const Dataset dataset = damaged().subset({50, 3, kDamaged, 1, 40});
  for (const Way& way : ways()) expect_noticed(dataset, way);
}

TEST_F(ChecksumsTest, OfARecordThatIsTwiceInABatch) {
  const Dataset dataset = damaged().subset({50, kDamaged, 3, kDamaged});
  for (const Way& way : two_ways()) expect_noticed(dataset, way);
}

TEST_F(ChecksumsTest, OfCompressedRecords) {
  const Dataset dataset = damaged({.level = 3}, 2000);
  ASSERT_EQ(dataset.locate(kDamaged).record.codec, Codec::zstd);
  for (const Way& way : two_ways()) expect_noticed(dataset, way, true);
}

TEST_F(ChecksumsTest, OfAChain) {
  const Dataset whole = testing::make_dataset(dir_ / "whole", {.num_records = 20});
  const Dataset dataset = Dataset::chain({whole, damaged()});
  for (const Way& way : two_ways()) expect_noticed(dataset, way);
}

TEST_F(ChecksumsTest, OfRecordsThatTakeThePlaceOfBadOnes) {
  testing::DatasetSpec spec{.num_records = kNumRecords, .num_shards = 1};
  for (int64_t i = 0; i < kNumRecords; i += 4) spec.undecodable.push_back(i);
  const Dataset dataset = testing::make_dataset(dir_ / "train", spec);
  for (int64_t i = 1; i < kNumRecords; i += 4) flip_bit_of_record(dataset, i);
  for (const Way& way : two_ways()) {
    LoaderOptions options = checking(way.io);
    options.bad_samples = BadSamples::skip;
    Loader loader(dataset, options);
    while (const auto batch = loader.next()) {
      for (const int64_t record : batch->record_indices()) {
        EXPECT_GE(record % 4, 2) << way.name << ": record " << record << " is bad";
      }
    }
    EXPECT_EQ(loader.statistics().num_replaced, kNumRecords / 2) << way.name;
  }
}

// After EIO of a read that neighbours share, each record is read alone: the damaged one is not
// taken for a good one then.
TEST_F(ChecksumsTest, OfRecordsThatAreReadAloneAfterTheirSharedReadFailed) {
  const Dataset dataset = damaged();
  LoaderOptions options =
      checking(by_engine_of_the_user([](int, const ReadRequest&) -> int64_t { return -EIO; }));
  options.bad_samples = BadSamples::skip;
  Loader loader(dataset, options);
  int64_t num_samples = 0;
  while (const auto batch = loader.next()) {
    for (const int64_t record : batch->record_indices()) EXPECT_NE(record, kDamaged);
    num_samples += batch->size();
  }
  EXPECT_EQ(num_samples, kNumRecords);
  EXPECT_EQ(loader.statistics().num_replaced, 1);
}

TEST_F(ChecksumsTest, OfV1Files) {
  const Dataset pictures =
      testing::make_dataset(dir_ / "pictures", {.num_records = kNumRecords, .num_shards = 1});
  std::vector<std::string> records;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < kNumRecords; ++i) {
    pictures.read(i, bytes);
    const RecordView record(pictures.schema(), bytes);
    std::vector<std::byte> pickle;
    pickle_bytes_and_label(record.bytes(pictures.schema().require("image")), i, pickle);
    records.emplace_back(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  }
  std::filesystem::create_directory(dir_ / "train.ffr");
  testing::write_v1_file(dir_ / "train.ffr/PART_00000.ffr", records);
  const Dataset dataset = Dataset::open(dir_.path(), "train");
  flip_bit_of_record(dataset, kDamaged);
  for (const Way& way : two_ways()) expect_noticed(dataset, way);
}

}  // namespace
}  // namespace ffkit
