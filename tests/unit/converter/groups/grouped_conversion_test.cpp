// Conversions of groups of files, of which one is open at a time: order, parts, ends and memory.
#include "converter_prelude.h"
#include "made_files.h"

namespace ffkit {
namespace {

using testing::MadeFiles;

// 40 files of 0 to 6 times 500 samples of 64 bytes; one of them in seven is empty.
MadeFiles forty_files() {
  return {.num_files = 40, .num_samples = [](int64_t file) { return file % 7 * 500; }};
}

ConvertOptions group_options(int64_t by_files = 4) {
  return {.num_threads = 2, .shard_bytes = 1 << 20, .seed = 3, .by_files = by_files};
}

ConvertSummary make(const MadeFiles& files, const fs::path& destination,
                    const ConvertOptions& options) {
  return convert(*files.source(options), destination, options);
}

std::vector<int64_t> labels(const fs::path& data_set) {
  return Dataset::open(data_set, "train").int_column("label");
}

std::vector<int64_t> all_labels(const MadeFiles& files) {
  std::vector<int64_t> labels;
  for (int64_t file = 0; file < files.num_files; ++file) {
    for (int64_t sample = 0; sample < files.num_samples(file); ++sample) {
      labels.push_back(file * 1'000'000 + sample);
    }
  }
  return labels;
}

class GroupedConversionTest : public ::testing::Test {
 protected:
  ConvertOptions part(int64_t index, int64_t count) {
    ConvertOptions options = group_options();
    options.part = {.index = index, .count = count};
    return options;
  }

  TempDir dir_;
};

TEST_F(GroupedConversionTest, TheSourcesOrderIsThatOfItsFiles) {
  ConvertOptions options = group_options();
  options.order = Order::sequential;
  const ConvertSummary summary = make(forty_files(), dir_ / "set", options);
  EXPECT_EQ(labels(dir_ / "set"), all_labels(forty_files()));
  EXPECT_EQ(summary.splits.at(0).num_skipped, 0);
  const Manifest manifest = Dataset::open(dir_ / "set", "train").manifest();
  EXPECT_EQ(manifest.options.at("by_files"), "4");
  EXPECT_GE(std::ssize(manifest.shards), 10);
}

TEST_F(GroupedConversionTest, ShufflesFilesAndTheSamplesOfAGroup) {
  make(forty_files(), dir_ / "set", group_options());
  const std::vector<int64_t> order = labels(dir_ / "set");
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, all_labels(forty_files()));
  EXPECT_NE(order, sorted);
  // Samples of a group come together: the first group has four files at most, and these are not
  // the first four.
  std::set<int64_t> files;
  for (size_t i = 0; i < 500; ++i) files.insert(order[i] / 1'000'000);
  EXPECT_LE(files.size(), 4U);
  EXPECT_GT(*files.rbegin(), 3);
}

TEST_F(GroupedConversionTest, TheOutputIsTheSameForAnyNumberOfThreads) {
  make(forty_files(), dir_ / "two", group_options());
  ConvertOptions options = group_options();
  options.num_threads = 5;
  make(forty_files(), dir_ / "five", options);
  EXPECT_TRUE(files_of(dir_ / "two") == files_of(dir_ / "five"));
}

TEST_F(GroupedConversionTest, NoShardOfAGroupIsARest) {
  // Groups of 1.5 shards each would leave halves behind.
  MadeFiles files{.num_files = 6, .num_samples = [](int64_t) { return 9000; }};
  make(files, dir_ / "set", group_options(1));
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  const Manifest manifest = Dataset::open(dir_ / "set", "train").manifest();
  for (const ManifestShard& shard : manifest.shards) {
    least = std::min(least, shard.num_records);
    most = std::max(most, shard.num_records);
  }
  EXPECT_LT(most, least * 11 / 10);
}

TEST_F(GroupedConversionTest, PartsMakeWhatOneMachineMakes) {
  MadeFiles files = forty_files();
  files.is_bad = [](int64_t file, int64_t sample) { return file % 5 == 1 && sample == 77; };
  const auto lenient = [](ConvertOptions options) {
    options.bad_samples = BadSamples::skip;
    return options;
  };
  make(files, dir_ / "whole", lenient(group_options()));
  std::vector<fs::path> parts;
  for (int64_t index = 1; index <= 3; ++index) {
    parts.push_back(dir_ / ("part" + std::to_string(index)));
    make(files, parts.back(), lenient(part(index, 3)));
  }
  merge_datasets(dir_ / "merged", parts, {});
  const auto whole = files_of(dir_ / "whole");
  EXPECT_TRUE(whole.contains("report.jsonl"));
  EXPECT_TRUE(files_of(dir_ / "merged") == whole);
}

TEST_F(GroupedConversionTest, PartsOfOnePlaceAreJoinedByTheLast) {
  make(forty_files(), dir_ / "whole", group_options());
  ConvertSummary summary;
  for (const int64_t index : {2, 3, 1}) {
    ConvertOptions options = part(index, 3);
    options.merge_when_complete = true;
    summary = make(forty_files(), dir_ / "set", options);
  }
  EXPECT_EQ(summary.num_finished_parts, 3);
  EXPECT_TRUE(files_of(dir_ / "set") == files_of(dir_ / "whole"));
}

TEST_F(GroupedConversionTest, APartOfOnePlaceThatStoppedGoesOn) {
  make(forty_files(), dir_ / "whole", group_options());
  ConvertOptions options = part(1, 2);
  options.merge_when_complete = true;
  MadeFiles files = forty_files();
  std::atomic<bool> cancel{false};
  int num_opened = 0;
  files.on_open = [&](int64_t) { cancel = ++num_opened == 4; };
  options.cancel = &cancel;
  EXPECT_ERROR_CODE(make(files, dir_ / "set", options), cancelled);
  cancel = false;
  files.on_open = {};
  options.resume = true;
  EXPECT_EQ(make(files, dir_ / "set", options).num_finished_parts, 1);
  EXPECT_TRUE(make(files, dir_ / "set", options).was_finished);
  options.part.index = 2;
  EXPECT_EQ(make(files, dir_ / "set", options).num_finished_parts, 2);
  EXPECT_TRUE(files_of(dir_ / "set") == files_of(dir_ / "whole"));
}

TEST_F(GroupedConversionTest, MorePartsThanGroupsLeaveSomeWithoutWork) {
  const MadeFiles files{.num_files = 3, .num_samples = [](int64_t) { return 100; }};
  ConvertSummary summary;
  for (int64_t index = 1; index <= 5; ++index) {
    ConvertOptions options = group_options(1);
    options.part = {.index = index, .count = 5};
    options.merge_when_complete = true;
    summary = make(files, dir_ / "set", options);
  }
  EXPECT_EQ(summary.num_finished_parts, 5);
  EXPECT_EQ(labels(dir_ / "set").size(), 300U);
  ConvertOptions alone = group_options(1);
  alone.part = {.index = 1, .count = 5};
  EXPECT_ERROR(make(files, dir_ / "alone", alone), invalid_argument);
}

TEST_F(GroupedConversionTest, OneFileIsAGroup) {
  const MadeFiles files{.num_files = 1, .num_samples = [](int64_t) { return 10; }};
  make(files, dir_ / "set", group_options(0));
  EXPECT_EQ(labels(dir_ / "set").size(), 10U);
}

TEST_F(GroupedConversionTest, FilesWithoutSamplesAreAnErrorWhereThereAreNoOthers) {
  const MadeFiles files{.num_files = 3, .num_samples = [](int64_t) { return 0; }};
  EXPECT_ERROR(files.source(group_options()), not_found);
}

TEST_F(GroupedConversionTest, PartsThatSawOtherFilesAreNotJoined) {
  make(forty_files(), dir_ / "one", part(1, 2));
  MadeFiles files = forty_files();
  files.extra_bytes = [](int64_t file) { return file == 5 ? 1 : 0; };
  make(files, dir_ / "two", part(2, 2));
  EXPECT_ERROR(merge_datasets(dir_ / "merged", {dir_ / "one", dir_ / "two"}, {}), invalid_argument);
  EXPECT_ERROR(merge_datasets(dir_ / "merged", {dir_ / "one"}, {}), invalid_argument);
}

TEST_F(GroupedConversionTest, AFileThatChangedIsAnotherSource) {
  MadeFiles files = forty_files();
  std::atomic<bool> cancel{false};
  int num_opened = 0;
  files.on_open = [&](int64_t) { cancel = ++num_opened == 5; };
  ConvertOptions options = group_options();
  options.cancel = &cancel;
  EXPECT_ERROR_CODE(make(files, dir_ / "set", options), cancelled);
  cancel = false;
  files.on_open = {};
  files.extra_bytes = [](int64_t file) { return file == 5 ? 1 : 0; };
  options.resume = true;
  EXPECT_ERROR(make(files, dir_ / "set", options), invalid_argument);
}

TEST_F(GroupedConversionTest, GoesOnWithoutOpeningFinishedGroups) {
  MadeFiles files = forty_files();
  files.is_bad = [](int64_t file, int64_t sample) { return file % 5 == 1 && sample == 77; };
  ConvertOptions options = group_options();
  options.bad_samples = BadSamples::skip;
  make(files, dir_ / "undisturbed", options);
  for (const int stop_at : {2, 5, 9}) {
    const fs::path set = dir_ / ("set" + std::to_string(stop_at));
    std::atomic<bool> cancel{false};
    int num_opened = 0;
    files.on_open = [&](int64_t) { cancel = ++num_opened == stop_at; };
    options.cancel = &cancel;
    options.resume = false;
    EXPECT_ERROR_CODE(make(files, set, options), cancelled);
    cancel = false;
    num_opened = 0;
    files.on_open = [&](int64_t) { ++num_opened; };
    options.resume = true;
    make(files, set, options);
    EXPECT_EQ(num_opened, 1 + 10 - (stop_at - 2)) << "the first for its fields";
    EXPECT_TRUE(files_of(set) == files_of(dir_ / "undisturbed")) << stop_at;
    EXPECT_TRUE(make(files, set, options).was_finished);
  }
}

// What a process that is killed leaves: no destructor runs.
TEST_F(GroupedConversionTest, GoesOnAfterAKill) {
  make(forty_files(), dir_ / "undisturbed", group_options());
  const pid_t child = ::fork();
  if (child == 0) {
    MadeFiles files = forty_files();
    int num_opened = 0;
    files.on_open = [&](int64_t) {
      if (++num_opened == 6) ::kill(::getpid(), SIGKILL);
    };
    make(files, dir_ / "set", group_options());
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_ERROR_CODE(Dataset::open(dir_ / "set", "train"), invalid_argument);
  ConvertOptions options = group_options();
  options.resume = true;
  std::vector<std::string> notes;
  options.note = [&](const std::string& sentence) { notes.push_back(sentence); };
  make(forty_files(), dir_ / "set", options);
  EXPECT_TRUE(files_of(dir_ / "set") == files_of(dir_ / "undisturbed"));
  EXPECT_THAT(notes, Contains(HasSubstr("of 10 groups of files are finished; continuing")));
}

TEST_F(GroupedConversionTest, AShardThatIsGoneIsMadeAgain) {
  make(forty_files(), dir_ / "undisturbed", group_options());
  MadeFiles files = forty_files();
  std::atomic<bool> cancel{false};
  int num_opened = 0;
  files.on_open = [&](int64_t) { cancel = ++num_opened == 6; };
  ConvertOptions options = group_options();
  options.cancel = &cancel;
  EXPECT_ERROR_CODE(make(files, dir_ / "set", options), cancelled);
  cancel = false;
  fs::remove(dir_ / "set/train/shard-100000.ffr");
  options.resume = true;
  make(forty_files(), dir_ / "set", options);
  EXPECT_TRUE(files_of(dir_ / "set") == files_of(dir_ / "undisturbed"));
}

TEST_F(GroupedConversionTest, ABadSampleEndsItOrIsReported) {
  MadeFiles files = forty_files();
  files.is_bad = [](int64_t file, int64_t sample) { return file == 9 && sample == 3; };
  ConvertOptions options = group_options();
  EXPECT_ERROR(make(files, dir_ / "set", options), corrupt);
  options.bad_samples = BadSamples::skip;
  options.resume = true;
  const ConvertSummary summary = make(files, dir_ / "set", options);
  EXPECT_EQ(summary.num_skipped(), 1);
  EXPECT_EQ(summary.num_reported, 1);
  EXPECT_THAT(files_of(dir_ / "set").at("report.jsonl"), HasSubstr("f-000009.made: 3"));
}

TEST_F(GroupedConversionTest, EstimatesByOneGroup) {
  MadeFiles files{.num_files = 20, .num_samples = [](int64_t) { return 1000; }};
  std::vector<std::string> notes;
  ConvertOptions options = group_options();
  options.note = [&](const std::string& sentence) { notes.push_back(sentence); };
  const ConvertEstimate estimate = estimate_conversion(*files.source(options), options);
  EXPECT_EQ(estimate.splits.at(0).num_samples, 20'000);
  EXPECT_EQ(estimate.splits.at(0).num_shards, 5);
  EXPECT_THAT(notes, Contains(HasSubstr("one group of files")));
}

TEST_F(GroupedConversionTest, IdsAreNotChosenInGroups) {
  ConvertOptions options = group_options();
  options.only_ids = {"a"};
  EXPECT_ERROR(validate(options), invalid_argument);
}

}  // namespace
}  // namespace ffkit
