// The parts of a conversion that share one folder, and the last of which merges all.
#include <ffkit/converter/leftovers.h>

#include "base/file/file_lock.h"
#include "converter/output/store_claim.h"
#include "converter_prelude.h"
#include "plan/plan_fingerprint.h"

namespace ffkit {
namespace {

constexpr int64_t kSamplesOfAll = 8000;  // about 8 shards
const std::vector<int64_t> kBadOfAll = {5, 333, 334, 7999};

class SharedPartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StoreClaim::pace() = {.beat = std::chrono::milliseconds(50),
                          .patience = std::chrono::milliseconds(400)};
  }
  void TearDown() override { StoreClaim::pace() = {}; }

  ConvertOptions options_of(int64_t index, int64_t count) {
    ConvertOptions options{
        .num_threads = 2, .shard_bytes = 1 << 20, .seed = 3, .bad_samples = BadSamples::skip};
    options.part = {.index = index, .count = count};
    options.merge_when_complete = true;
    options.note = [this](const std::string& sentence) { notes_.push_back(sentence); };
    return options;
  }
  ConvertSummary make(int64_t index, int64_t count, bool resume = false) {
    ConvertOptions options = options_of(index, count);
    options.resume = resume;
    return convert(FakeSource(kSamplesOfAll, kBadOfAll), set_, options);
  }
  // Stops when so many samples have been read.
  void stop(int64_t index, int64_t count, int64_t most_reads) {
    FakeSource source(kSamplesOfAll, kBadOfAll);
    std::atomic<bool> cancel{false};
    source.on_read = [&](int64_t) {
      if (source.num_reads > most_reads) cancel = true;
    };
    ConvertOptions options = options_of(index, count);
    options.cancel = &cancel;
    EXPECT_ERROR_CODE(convert(source, set_, options), cancelled);
  }
  std::map<std::string, std::string> whole() const {
    ConvertOptions options{
        .num_threads = 2, .shard_bytes = 1 << 20, .seed = 3, .bad_samples = BadSamples::skip};
    convert(FakeSource(kSamplesOfAll, kBadOfAll), dir_ / "whole", options);
    return files_of(dir_ / "whole");
  }
  // Their bytes are no message.
  bool holds(const std::map<std::string, std::string>& files) const {
    return files_of(set_) == files;
  }
  // No folder of a part either, which files_of() would not show.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(set_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  TempDir dir_;
  fs::path set_ = dir_ / "set";
  std::vector<std::string> notes_;
};

TEST_F(SharedPartsTest, TheLastToEndMakesWhatOneMachineMakes) {
  const auto wanted = whole();
  ConvertSummary summary = make(2, 3);
  EXPECT_EQ(summary.num_parts, 3);
  EXPECT_EQ(summary.num_finished_parts, 1);
  EXPECT_TRUE(summary.merged.empty());
  EXPECT_ERROR(Dataset::open(set_, "train"), invalid_argument);
  EXPECT_EQ(make(3, 3).num_finished_parts, 2);
  EXPECT_ERROR_CODE(Dataset::open(set_, "train"), invalid_argument);
  summary = make(1, 3);
  EXPECT_EQ(summary.num_finished_parts, 3);
  ASSERT_EQ(summary.merged.size(), 1U);
  EXPECT_EQ(summary.merged[0].num_records, kSamplesOfAll - std::ssize(kBadOfAll));
  EXPECT_EQ(summary.merged[0].fingerprint,
            Dataset::open(dir_ / "whole", "train").manifest().fingerprint());
  EXPECT_TRUE(holds(wanted));
  EXPECT_EQ(names(), (std::vector<std::string>{"report.jsonl", "train"}));
}

TEST_F(SharedPartsTest, APartThatIsRunAgainChangesNothing) {
  const auto wanted = whole();
  make(1, 2);
  const auto before = files_of(set_);
  EXPECT_TRUE(make(1, 2, /*resume=*/true).was_finished);
  EXPECT_TRUE(holds(before));
  EXPECT_THAT(notes_, Contains(HasSubstr("part 1 of 2 is already finished")));
  make(1, 2);  // starts over
  EXPECT_TRUE(holds(before));
  make(2, 2);
  EXPECT_TRUE(holds(wanted));
  for (const int64_t index : {1, 2}) {
    const ConvertSummary summary = make(index, 2, /*resume=*/true);
    EXPECT_TRUE(summary.was_finished);
    EXPECT_EQ(summary.num_records(), kSamplesOfAll - std::ssize(kBadOfAll));
    EXPECT_ERROR(make(index, 2), invalid_argument);
  }
  EXPECT_TRUE(holds(wanted));
}

TEST_F(SharedPartsTest, APartThatWasStoppedIsWaitedFor) {
  const auto wanted = whole();
  stop(1, 2, 2500);
  EXPECT_EQ(make(2, 2).num_finished_parts, 1);
  EXPECT_EQ(make(1, 2, /*resume=*/true).merged.size(), 1U);
  EXPECT_TRUE(holds(wanted));
}

TEST_F(SharedPartsTest, AShardThatIsLostIsMadeAgain) {
  const auto wanted = whole();
  make(1, 2);
  fs::remove(set_ / "train/shard-00001.ffr");
  EXPECT_FALSE(make(1, 2, /*resume=*/true).was_finished);
  make(2, 2);
  EXPECT_TRUE(holds(wanted));
}

TEST_F(SharedPartsTest, MorePartsThanShards) {
  const auto wanted = whole();
  for (int64_t index = 1; index <= 20; ++index) {
    EXPECT_EQ(make(index, 20).num_finished_parts, index);
  }
  EXPECT_THAT(notes_,
              Contains(HasSubstr("part 1/20 has nothing to do, because no split has more than")));
  EXPECT_TRUE(holds(wanted));
  EXPECT_TRUE(make(1, 20, /*resume=*/true).was_finished);
}

TEST_F(SharedPartsTest, WhatKilledOnesWroteIsRemovedWhenItIsOld) {
  make(1, 2);
  for (const char* name : {".ffkit-upload-1-0-ab", ".ffkit-upload-1-1-ab"}) {
    testing::write_file(set_ / name, "half a claim");
  }
  fs::create_directory(set_ / ".ffkit-upload-look-12");
  fs::last_write_time(set_ / ".ffkit-upload-1-0-ab",
                      fs::file_time_type::clock::now() - std::chrono::minutes(2));
  make(2, 2);
  EXPECT_EQ(names(), (std::vector<std::string>{".ffkit-upload-1-1-ab", "report.jsonl", "train"}));
}

// One that was killed before it was refused is not waited for.
TEST_F(SharedPartsTest, APartOfAnotherNumberIsNoPart) {
  const auto wanted = whole();
  make(1, 2);
  testing::write_file(set_ / ".part-3-of-7/.ffkit-unfinished", "x\nkind conversion\nplan p\n");
  make(2, 2);
  EXPECT_TRUE(holds(wanted));
  EXPECT_EQ(names(), (std::vector<std::string>{"report.jsonl", "train"}));
}

// Somebody has removed the marker: no part is taken for the whole.
TEST_F(SharedPartsTest, AreCountedByTheirFoldersWithoutTheMarker) {
  const auto wanted = whole();
  make(1, 3);
  make(2, 3);
  fs::remove(set_ / ".ffkit-unfinished");
  EXPECT_ERROR(merge_datasets(set_, {}, {}), invalid_argument);
  testing::write_file(set_ / ".part-1-of-2/report.jsonl", "");
  EXPECT_ERROR(merge_datasets(set_, {}, {}), invalid_argument);
  fs::remove_all(set_ / ".part-1-of-2");
  make(3, 3);
  EXPECT_TRUE(holds(wanted));
}

TEST_F(SharedPartsTest, OthersAreRefused) {
  make(1, 3);
  EXPECT_ERROR(make(1, 4), invalid_argument);
  ConvertOptions options = options_of(2, 3);
  options.shard_bytes = 2 << 20;
  EXPECT_ERROR_CODE(convert(FakeSource(kSamplesOfAll, kBadOfAll), set_, options), invalid_argument);
  options = options_of(1, 1);
  EXPECT_ERROR(convert(FakeSource(10), set_, options), invalid_argument);
  options.part.found_by = "SLURM_ARRAY_TASK_ID";
  EXPECT_ERROR(convert(FakeSource(10), set_, options), invalid_argument);
  EXPECT_ERROR(merge_datasets(set_, {}, {}), invalid_argument);
  EXPECT_FALSE(fs::exists(set_ / ".part-1-of-4/.ffkit-unfinished"));
  EXPECT_FALSE(holds_parts(dir_ / "other"));
  EXPECT_TRUE(holds_parts(set_));
}

// Parts whose number was given join those that are there, and merge by hand.
TEST_F(SharedPartsTest, APartThatIsFoundSharesTheFolder) {
  const auto wanted = whole();
  ConvertOptions options = options_of(1, 2);
  options.merge_when_complete = false;
  options.part.found_by = "SLURM_PROCID";
  convert(FakeSource(kSamplesOfAll, kBadOfAll), set_, options);
  EXPECT_THAT(notes_, Contains("part 1 of 2, from SLURM_PROCID"));
  options.part = {.index = 2, .count = 2};
  EXPECT_EQ(convert(FakeSource(kSamplesOfAll, kBadOfAll), set_, options).num_parts, 0);
  EXPECT_ERROR_CODE(Dataset::open(set_, "train"), invalid_argument);
  merge_datasets(set_, {}, {});
  EXPECT_TRUE(holds(wanted));
}

TEST_F(SharedPartsTest, GathersThroughTheFolderOfThePart) {
  const auto wanted = whole();
  for (const int64_t index : {1, 2}) {
    ConvertOptions options = options_of(index, 2);
    options.read = ReadMode::gather;
    convert(FakeSource(kSamplesOfAll, kBadOfAll), set_, options);
  }
  EXPECT_TRUE(holds(wanted));
}

TEST_F(SharedPartsTest, OneOfSeveralThatEndTogetherMerges) {
  const auto wanted = whole();
  constexpr int kParts = 4;
  for (int round = 0; round < 10; ++round) {
    std::vector<ConvertSummary> summaries(kParts);
    std::vector<std::thread> threads;
    for (int i = 0; i < kParts; ++i) {
      ConvertOptions options = options_of(i + 1, kParts);
      options.note = {};
      threads.emplace_back([this, options, &summary = summaries[static_cast<size_t>(i)]] {
        summary = convert(FakeSource(kSamplesOfAll, kBadOfAll), set_, options);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::ranges::count_if(summaries, [](const auto& s) { return !s.merged.empty(); }), 1);
    EXPECT_TRUE(holds(wanted));
    fs::remove_all(set_);
  }
}

// A process of another machine merges, and is stopped.
TEST_F(SharedPartsTest, AMergeIsLeftToWhoeverHasTheClaim) {
  const auto wanted = whole();
  make(1, 2);
  {
    StoreClaim merging("file://" + set_.string(), {}, {});
    const ConvertSummary summary = make(2, 2);
    EXPECT_EQ(summary.num_finished_parts, 2);
    EXPECT_TRUE(summary.merged.empty());
    EXPECT_ERROR(make(1, 2), invalid_argument);  // would make a shard of the merge anew
  }
  EXPECT_FALSE(make(2, 2, /*resume=*/true).merged.empty());
  EXPECT_TRUE(holds(wanted));
}

TEST_F(SharedPartsTest, AMergeThatWasKilledIsRepeated) {
  const auto wanted = whole();
  make(1, 2);
  ConvertOptions options = options_of(2, 2);
  options.merge_when_complete = false;
  convert(FakeSource(kSamplesOfAll, kBadOfAll), set_, options);
  const fs::path parts = dir_ / "parts";
  fs::copy(set_, parts, fs::copy_options::recursive);
  merge_datasets(set_, {}, {});
  const std::string manifest = testing::read_file(set_ / "train/manifest.json");
  const std::string report = testing::read_file(set_ / "report.jsonl");
  const auto begin_anew = [&] {
    fs::remove_all(set_);
    fs::copy(parts, set_, fs::copy_options::recursive);
  };
  // Before and after the manifest, and with the claim of a process that is no more.
  begin_anew();
  testing::write_file(set_ / "report.jsonl", report);
  Claimant dead = this_process();
  dead.begin += "0";
  testing::write_file(set_ / ".ffkit-in-use-1", to_text(dead) + "token t\nbeat 0\n");
  EXPECT_EQ(make(1, 2, /*resume=*/true).merged.size(), 1U);
  EXPECT_TRUE(holds(wanted));
  begin_anew();
  testing::write_file(set_ / "train/manifest.json", manifest);
  EXPECT_ERROR_CODE(Dataset::open(set_, "train"), invalid_argument);
  EXPECT_EQ(make(2, 2, /*resume=*/true).merged.size(), 1U);
  EXPECT_TRUE(holds(wanted));
  // The manifest of a killed merge is not that of parts that were made anew.
  begin_anew();
  testing::write_file(set_ / "train/manifest.json", "{}");
  make(2, 2);
  EXPECT_TRUE(holds(wanted));
  // When the marker was gone, and some of the parts' files.
  begin_anew();
  testing::write_file(set_ / "train/manifest.json", manifest);
  testing::write_file(set_ / "report.jsonl", report);
  testing::write_file(set_ / "train/.ffkit-upload-1-0-ab", "of a killed part");
  fs::remove(set_ / ".ffkit-unfinished");
  fs::remove(set_ / ".part-1-of-2/.ffkit-unfinished");
  fs::remove(set_ / ".part-1-of-2/report.jsonl");
  EXPECT_EQ(Dataset::open(set_, "train").num_records(), kSamplesOfAll - std::ssize(kBadOfAll));
  EXPECT_TRUE(make(1, 2, /*resume=*/true).was_finished);
  EXPECT_TRUE(holds(wanted));
  EXPECT_EQ(names(), (std::vector<std::string>{"report.jsonl", "train"}));
}

TEST_F(SharedPartsTest, TheClaimOfAKilledMergeIsRemoved) {
  const auto wanted = whole();
  for (const int64_t index : {1, 2}) make(index, 2);
  Claimant dead = this_process();
  dead.begin += "0";
  testing::write_file(set_ / ".ffkit-in-use-1", to_text(dead) + "token t\nbeat 0\n");
  EXPECT_TRUE(make(1, 2, /*resume=*/true).was_finished);
  EXPECT_TRUE(holds(wanted));
}

// What is left over of parts is found, and what a process makes stays.
TEST_F(SharedPartsTest, LeftoversOfParts) {
  stop(1, 2, 2500);
  EXPECT_FALSE(find_leftovers(set_).found.empty());
  EXPECT_EQ(remove_leftovers(set_, /*unfinished=*/false, {}).num_removed, 0);
  {
    StoreClaim working("file://" + (set_ / ".part-1-of-2").string(), {}, {});
    EXPECT_ERROR_CODE(remove_leftovers(set_, /*unfinished=*/true, {}), invalid_argument);
  }
  EXPECT_GT(remove_leftovers(set_, /*unfinished=*/true, {}).num_removed, 2);
  for (const auto& [name, bytes] : files_of(set_)) ADD_FAILURE() << name;
}

TEST(PartRange, IsReadAsItIsWritten) {
  const PartRange range{
      .part = {.index = 2, .count = 8}, .begin_shard = 10, .end_shard = 20, .num_shards = 80};
  EXPECT_EQ(range.text(), "2/8: shards 10 to 19 of 80");
  const auto read = parse_part_range(range.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->part.index, 2);
  EXPECT_EQ(read->part.count, 8);
  EXPECT_EQ(read->begin_shard, 10);
  EXPECT_EQ(read->end_shard, 20);
  EXPECT_EQ(read->num_shards, 80);
}

TEST(PartRange, NumbersMayBeginWithAnyDigit) {
  for (const char* text : {"1/9: shards 0 to 0 of 9", "9/9: shards 9 to 90 of 99"}) {
    const auto read = parse_part_range(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
}

TEST(PartRange, IsReadOfNothingElse) {
  for (const char* text :
       {"", "2/8", "2/8: shards 10 to 19", "2/8: shards 10 to 19 of", "2/8: shards 10 to 19 of 80 ",
        "2/8: shards 10-19 of 80", "2/8: shards -10 to 19 of 80", "02/8: shards 10 to 19 of 80",
        "2/8: shards 10 to 19 of 99999999999999999999",
        "2/8: shards 10 to 9223372036854775807 of 80"}) {
    EXPECT_FALSE(parse_part_range(text)) << text;
  }
}

}  // namespace
}  // namespace ffkit
