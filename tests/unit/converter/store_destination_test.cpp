// Data sets that are written to a store; file:// is one that needs no server. tests/storage has the
// others.
#include <ffkit/converter/sample_writer.h>
#include <ffkit/format/dataset.h>
#include <ffkit/sources/jsonl.h>

#include "base/file/file_lock.h"
#include "converter/output/destination.h"
#include "converter/output/store_claim.h"
#include "converter_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kSamplesInStore = 8000;  // about 8 shards
const std::vector<int64_t> kBadInStore = {5, 333, 334, 7999};

class StoreDestinationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StoreClaim::pace() = {.beat = std::chrono::milliseconds(50),
                          .patience = std::chrono::milliseconds(400)};
  }
  void TearDown() override { StoreClaim::pace() = {}; }

  static ConvertOptions options_of() {
    return {.num_threads = 2, .shard_bytes = 1 << 20, .seed = 3, .bad_samples = BadSamples::skip};
  }
  fs::path address(const std::string& name = "set") const {
    return "file://" + (dir_ / name).string();
  }
  std::map<std::string, std::string> local() const {
    convert(FakeSource(kSamplesInStore, kBadInStore), dir_ / "local", options_of());
    return files_of(dir_ / "local");
  }
  std::string claim_of(const Claimant& claimant, const std::string& token = "t") const {
    return to_text(claimant) + "token " + token + "\nbeat 0\n";
  }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name) << text;
  }

  TempDir dir_;
};

TEST_F(StoreDestinationTest, HasTheBytesOfAFolder) {
  const auto wanted = local();
  ASSERT_GT(wanted.size(), 7U);
  const ConvertSummary summary =
      convert(FakeSource(kSamplesInStore, kBadInStore), address(), options_of());
  EXPECT_EQ(summary.num_skipped(), std::ssize(kBadInStore));
  EXPECT_EQ(files_of(dir_ / "set"), wanted);
  EXPECT_EQ(Dataset::open(address(), "train").num_records(),
            kSamplesInStore - std::ssize(kBadInStore));
}

// It was a folder called "FILE:" here.
TEST_F(StoreDestinationTest, IsKnownByItsSchemeWithoutCase) {
  put("rows/train.jsonl", "{\"label\": 1}\n");
  const fs::path rows = dir_ / "rows/train.jsonl";
  const auto source = open_jsonl("FILE://" + rows.string());
  const fs::path typed = "FILE://" + (dir_ / "set").string();
  convert(*source, typed, {});
  EXPECT_FALSE(fs::exists("FILE:"));
  const std::vector<std::string> splits = list_splits(typed);
  ASSERT_EQ(splits.size(), 1U);
  const Dataset there = Dataset::open(typed, splits[0]);
  EXPECT_EQ(there.path(), address() / splits[0]);
  EXPECT_EQ(there.manifest().source.at("path"), "file://" + rows.string());
}

TEST_F(StoreDestinationTest, GoesOnWhereItWasStopped) {
  const auto wanted = local();
  for (const int64_t num_reads : {1, 1500, 1600, 1700}) {
    FakeSource source(kSamplesInStore, kBadInStore);
    std::atomic<bool> cancel{false};
    source.on_read = [&](int64_t) {
      if (source.num_reads > num_reads) cancel = true;
    };
    ConvertOptions options = options_of();
    options.cancel = &cancel;
    options.resume = true;
    EXPECT_ERROR_CODE(convert(source, address(), options), cancelled);
    if (num_reads == 1) {
      EXPECT_TRUE(files_of(dir_ / "set").empty());
      continue;
    }
    EXPECT_ERROR_CODE(Dataset::open(address(), "train"), invalid_argument);
    EXPECT_FALSE(fs::exists(dir_ / "set/.ffkit-in-use-1"));
  }
  FakeSource source(kSamplesInStore, kBadInStore);
  ConvertOptions options = options_of();
  options.resume = true;
  convert(source, address(), options);
  EXPECT_LT(source.num_reads, kSamplesInStore);
  EXPECT_EQ(files_of(dir_ / "set"), wanted);
  EXPECT_TRUE(convert(FakeSource(kSamplesInStore, kBadInStore), address(), options).was_finished);
}

// A report is written before its shard. A shard that is made again has no report of what was bad.
TEST_F(StoreDestinationTest, ForgetsTheReportOfAShardWhoseSamplesAreGoodNow) {
  std::vector<std::map<std::string, std::string>> made;
  for (const bool is_in_store : {false, true}) {
    const fs::path folder = dir_ / (is_in_store ? "set" : "folder");
    const fs::path destination = is_in_store ? address() : folder;
    ConvertOptions options = options_of();
    options.order = Order::sequential;
    options.resume = true;
    std::atomic<bool> cancel{false};
    options.cancel = &cancel;
    FakeSource source(kSamplesInStore, {700});
    source.on_read = [&](int64_t) {
      if (source.num_reads > 3000) cancel = true;
    };
    EXPECT_ERROR_CODE(convert(source, destination, options), cancelled);
    ASSERT_TRUE(fs::remove(folder / "train/shard-00000.ffr"));
    cancel = false;
    const ConvertSummary summary = convert(FakeSource(kSamplesInStore), destination, options);
    EXPECT_EQ(summary.num_skipped(), 0);
    EXPECT_EQ(Dataset::open(destination, "train").num_records(), kSamplesInStore);
    made.push_back(files_of(folder));
  }
  EXPECT_EQ(made[0], made[1]);
}

TEST_F(StoreDestinationTest, RefusesWhatAFolderRefuses) {
  put("used/notes.txt", "x");
  EXPECT_ERROR(convert(FakeSource(10), address("used"), options_of()), invalid_argument);
  convert(FakeSource(10), address(), options_of());
  EXPECT_ERROR(convert(FakeSource(10), address(), options_of()), invalid_argument);
  put("mixed/.ffkit-unfinished", "kind conversion\n");
  put("mixed/train/notes.txt", "x");
  EXPECT_ERROR(convert(FakeSource(10), address("mixed"), options_of()), invalid_argument);
  EXPECT_EQ(files_of(dir_ / "mixed").size(), 2U);
  ConvertOptions options = options_of();
  options.read = ReadMode::gather;
  EXPECT_ERROR(convert(FakeSource(10), "s3://bucket/new", options), invalid_argument);
  EXPECT_ERROR(convert(FakeSource(10), "https://host/set", options_of()), unsupported);
  EXPECT_ERROR(convert(FakeSource(10), "hf://datasets/owner/name/set", options_of()), unsupported);
  EXPECT_FALSE(fs::exists(dir_ / "new"));
}

TEST_F(StoreDestinationTest, StartsOverUnlessItIsToGoOn) {
  put("set/.ffkit-unfinished", "x\nkind conversion\nplan p\ncommand c\n");
  put("set/train/shard-00000.ffr", "no shard");
  put("set/train/shard-00099.ffr", "no shard");
  std::vector<std::string> notes;
  ConvertOptions options = options_of();
  options.note = [&](const std::string& sentence) { notes.push_back(sentence); };
  convert(FakeSource(kSamplesInStore, kBadInStore), address(), options);
  EXPECT_EQ(files_of(dir_ / "set"), local());
  EXPECT_THAT(notes, ::testing::Contains(HasSubstr("found and removed; starting over")));
}

TEST_F(StoreDestinationTest, LeavesNothingWhenItFailsBeforeItsFirstShard) {
  EXPECT_ERROR_CODE(
      convert(FakeSource(10, {5}), address(), {.num_threads = 1, .shard_bytes = 1 << 20}), corrupt);
  EXPECT_TRUE(files_of(dir_ / "set").empty());
}

TEST_F(StoreDestinationTest, IsOneWritersAlone) {
  const auto first = Destination::claim(address());
  EXPECT_ERROR_CODE(Destination::claim(address()), invalid_argument);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  first->require_held();
  EXPECT_ERROR_CODE(Destination::claim(address()), invalid_argument);
  first->keep();
  const auto second = Destination::claim(address());
  EXPECT_TRUE(second->started_over());
}

// The claim of a process of this machine that is no more, and of this one that lost the store.
TEST_F(StoreDestinationTest, TakesOverFromTheDeadAtOnce) {
  StoreClaim::pace().patience = std::chrono::hours(1);
  Claimant dead = this_process();
  dead.begin += "0";
  put("set/.ffkit-in-use-3", claim_of(dead));
  { const auto claimed = Destination::claim(address()); }
  put("set/.ffkit-in-use-3", claim_of(this_process()));
  { const auto claimed = Destination::claim(address()); }
  std::string own;
  {
    const auto claimed = Destination::claim(address());
    own = testing::read_file(dir_ / "set/.ffkit-in-use-1");
  }
  put("set/.ffkit-in-use-1", own);  // as if the store had not been there when it was removed
  { const auto claimed = Destination::claim(address()); }
  EXPECT_TRUE(files_of(dir_ / "set").empty());
}

TEST_F(StoreDestinationTest, WatchesTheClaimOfAnotherMachine) {
  Claimant far = this_process();
  far.host = "elsewhere";
  far.pid = 12;
  std::vector<std::string> notes;
  const Destination::Claim claim = {
      .note = [&](const std::string& sentence) { notes.push_back(sentence); }};
  put("set/.ffkit-in-use-1", claim_of(far));
  {
    const auto claimed = Destination::claim(address(), claim);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], HasSubstr("process 12 on elsewhere"));
    EXPECT_THAT(notes[0], HasSubstr("waiting 0.4 s to see if it still writes"));
  }
  put("set/.ffkit-in-use-1", claim_of(far, "a"));
  StoreClaim::pace().patience = std::chrono::minutes(5);  // ends with the first beat
  std::atomic<bool> is_done{false};
  std::thread beat([&] {
    for (int i = 0; !is_done; ++i) {
      put("next", claim_of(far, "a") + "beat " + std::to_string(i) + "\n");
      fs::rename(dir_ / "next", dir_ / "set/.ffkit-in-use-1");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_ERROR_CODE(Destination::claim(address(), claim), invalid_argument);
  is_done = true;
  beat.join();
}

TEST_F(StoreDestinationTest, FindsThatItWasTakenOver) {
  const auto claimed = Destination::claim(address());
  Claimant far = this_process();
  far.host = "elsewhere";
  put("set/.ffkit-in-use-2", claim_of(far));
  try {
    claimed->require_held();
    ADD_FAILURE() << "is held";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("this process did not answer for 0.4 s"));
  }
  EXPECT_ERROR_CODE(claimed->commit(), invalid_argument);
  EXPECT_TRUE(fs::exists(dir_ / "set/.ffkit-unfinished"));
}

// Parts write to one place, and a merge moves no shard.
TEST_F(StoreDestinationTest, PartsBecomeWhatOneMachineMakes) {
  const auto wanted = local();
  const auto convert_part = [&](int64_t index, int64_t count, bool resume, int64_t most_reads) {
    FakeSource source(kSamplesInStore, kBadInStore);
    std::atomic<bool> cancel{false};
    source.on_read = [&](int64_t) {
      if (source.num_reads > most_reads) cancel = true;
    };
    ConvertOptions options = options_of();
    options.part = {.index = index, .count = count};
    options.resume = resume;
    options.cancel = &cancel;
    convert(source, address(), options);
    return source.num_reads.load();
  };
  constexpr int64_t kAll = 1'000'000;
  EXPECT_ERROR(merge_datasets(address(), {}, {}), not_found);
  EXPECT_ERROR_CODE(convert_part(2, 3, false, 1800), cancelled);
  EXPECT_ERROR(merge_datasets(address(), {}, {}), invalid_argument);
  EXPECT_LT(convert_part(2, 3, true, kAll), kSamplesInStore / 3 - 1000);
  convert_part(3, 3, false, kAll);
  EXPECT_ERROR(merge_datasets(address(), {}, {}), invalid_argument);
  EXPECT_ERROR(convert_part(1, 4, false, kAll), invalid_argument);
  EXPECT_ERROR_CODE(convert(FakeSource(10), address(), options_of()), invalid_argument);
  EXPECT_ERROR(Dataset::open(address(), "train"), invalid_argument);
  convert_part(1, 3, false, kAll);
  convert_part(1, 3, false, kAll);  // starts over
  EXPECT_LT(convert_part(3, 3, true, kAll), 100);
  const ConvertSummary summary = merge_datasets(address(), {}, {});
  EXPECT_EQ(summary.num_records(), kSamplesInStore - std::ssize(kBadInStore));
  EXPECT_EQ(files_of(dir_ / "set"), wanted);
  EXPECT_ERROR(convert_part(1, 3, false, kAll), invalid_argument);
  EXPECT_LT(convert_part(1, 3, true, kAll), 100);  // there is the whole
  EXPECT_EQ(files_of(dir_ / "set"), wanted);
}

TEST_F(StoreDestinationTest, MergesRefuseShardsThatAreNotTheParts) {
  for (const int64_t index : {1, 2}) {
    ConvertOptions options = options_of();
    options.part = {.index = index, .count = 2};
    convert(FakeSource(kSamplesInStore), address(), options);
  }
  const std::string shard = testing::read_file(dir_ / "set/train/shard-00001.ffr");
  put("set/train/shard-00001.ffr", shard.substr(1));
  EXPECT_ERROR(merge_datasets(address(), {}, {}), corrupt);
  fs::remove(dir_ / "set/train/shard-00001.ffr");
  EXPECT_ERROR(merge_datasets(address(), {}, {}), corrupt);
  put("set/train/shard-00001.ffr", shard);
  merge_datasets(address(), {}, {});
  EXPECT_EQ(Dataset::open(address(), "train").num_records(), kSamplesInStore);
}

TEST_F(StoreDestinationTest, FfrecordV1AndMergesAreRefused) {
  convert(FakeSource(10), dir_ / "a", options_of());
  EXPECT_ERROR(merge_datasets(address(), {dir_ / "a"}, {}), unsupported);
  EXPECT_ERROR(merge_datasets(dir_ / "b", {address("a")}, {}), unsupported);
  EXPECT_ERROR(append_datasets(address("a"), {dir_ / "a"}, {}), unsupported);
}

TEST_F(StoreDestinationTest, SamplesWrittenOneByOne) {
  const Schema schema{{{.name = "label", .type = FieldType::scalar, .dtype = DType::i64}}};
  const auto write = [&](const fs::path& place, int64_t number, bool is_finished) {
    SampleWriter writer(place, "train", schema, {.num_threads = 2});
    for (int64_t i = 0; i < number; ++i) {
      writer.write([i](RecordBuilder& record, SampleBuffers&) { record.set_scalar(0, i); }, 8);
    }
    EXPECT_ERROR_CODE(SampleWriter(place, "train", schema, {}), invalid_argument);
    if (is_finished) writer.finish();
  };
  write(address(), 100, false);
  EXPECT_TRUE(files_of(dir_ / "set").empty());
  write(address(), 100, true);
  write(dir_ / "folder", 100, true);
  EXPECT_EQ(files_of(dir_ / "set"), files_of(dir_ / "folder"));
  EXPECT_ERROR_CODE(SampleWriter(address(), "train", schema, {}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
