// What the converter promises of a power cut: when it has returned, everything is on the disk, and
// the mark of an unfinished conversion goes only after everything else is.
#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/v1.h>

#include "fake_source.h"
#include "faults/write_journal.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::FakeSource;
using testing::WriteJournal;

class Durability : public ::testing::Test {
 protected:
  // A data set with a report, made beforehand.
  fs::path make(const std::string& name, int64_t num_samples) {
    convert(FakeSource(num_samples, {3}), dir_ / name,
            {.num_threads = 1, .bad_samples = BadSamples::skip});
    return dir_ / name;
  }
  void expect_durable(const WriteJournal& journal, const fs::path& folder) const {
    EXPECT_THAT(journal.problems(), ::testing::IsEmpty());
    EXPECT_TRUE(journal.has_synced(folder)) << folder;
    EXPECT_TRUE(journal.has_synced(folder.parent_path())) << folder.parent_path();
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      EXPECT_TRUE(journal.has_synced(entry.path())) << entry.path();
    }
  }
  static void expect_files_synced(const WriteJournal& journal, const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      EXPECT_TRUE(journal.has_synced(entry.path().string() + ".tmp")) << entry.path();
    }
  }

  TempDir dir_;
};

TEST_F(Durability, OfAConversion) {
  const WriteJournal journal;
  convert(FakeSource(40, {3}), dir_ / "out", {.num_threads = 1, .bad_samples = BadSamples::skip});
  ASSERT_TRUE(fs::exists(dir_ / "out/report.jsonl"));
  expect_durable(journal, dir_ / "out");
  expect_files_synced(journal, dir_ / "out");
}

TEST_F(Durability, OfAConversionIntoNewFolders) {
  const WriteJournal journal;
  convert(FakeSource(10), dir_ / "deep/er/out", {.num_threads = 1});
  expect_durable(journal, dir_ / "deep/er/out");
  EXPECT_TRUE(journal.has_synced(dir_ / "deep"));
  EXPECT_TRUE(journal.has_synced(dir_.path()));
}

TEST_F(Durability, OfAConversionThatGathers) {
  const WriteJournal journal;
  convert(FakeSource(40), dir_ / "out", {.num_threads = 1, .read = ReadMode::gather});
  expect_durable(journal, dir_ / "out");
  expect_files_synced(journal, dir_ / "out");
}

TEST_F(Durability, OfAMerge) {
  const fs::path a = make("a", 20);
  const fs::path b = make("b", 30);
  for (const ShardTransfer transfer : {ShardTransfer::copy, ShardTransfer::link}) {
    const fs::path out = dir_ / (transfer == ShardTransfer::copy ? "copied" : "linked");
    const WriteJournal journal;
    merge_datasets(out, {a, b}, {.transfer = transfer, .duplicates = Duplicates::keep});
    expect_durable(journal, out);
    if (transfer == ShardTransfer::copy) expect_files_synced(journal, out);
  }
}

TEST_F(Durability, OfAnAddition) {
  const fs::path a = make("a", 20);
  const fs::path b = make("b", 30);
  const WriteJournal journal;
  append_datasets(a, {b}, {.transfer = ShardTransfer::copy, .duplicates = Duplicates::keep});
  EXPECT_THAT(journal.problems(), ::testing::IsEmpty());
  EXPECT_TRUE(journal.has_synced(a / "train"));
  EXPECT_TRUE(journal.has_synced(a / "train/shard-00001.ffr.tmp"));
  EXPECT_TRUE(journal.has_synced(a / "train/manifest.json.tmp"));
}

TEST_F(Durability, OfFilesOfVersion1) {
  const Dataset split = Dataset::open(make("a", 20), "train");
  const WriteJournal journal;
  write_v1({split}, dir_ / "out", {});
  ASSERT_TRUE(fs::exists(dir_ / "out/meta.pkl"));
  expect_durable(journal, dir_ / "out");
  expect_files_synced(journal, dir_ / "out");
}

}  // namespace
}  // namespace ffkit
