#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include <ffkit/converter/remove.h>
#include <ffkit/sources/transcode.h>

#include "converter_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kRecordsOfSet = 3000;

class RemoveTest : public ::testing::Test {
 protected:
  // Two splits, the first of several shards.
  void make(const ConvertOptions& options = {}) {
    ConvertOptions of_train = options;
    of_train.shard_bytes = 1 << 20;
    of_train.num_threads = 2;
    convert(FakeSource(kRecordsOfSet, {5}, kSalt), set_, [&] {
      of_train.bad_samples = BadSamples::skip;
      return of_train;
    }());
    DatasetWriter val(set_ / "val", {.split = "val", .schema = image_classification_schema()});
    RecordBuilder record(val.schema());
    for (const char* id : {"sample-1", "other"}) {
      record.set_string(2, id);
      val.append(testing::encoded(record));
    }
    val.finish();
  }

  std::vector<std::string> ids(const std::string& split) const {
    const Dataset dataset = Dataset::open(set_, split);
    for (int64_t i = 0; i < dataset.num_shards(); ++i) {
      EXPECT_TRUE(dataset.shard(i).verify().empty());
    }
    return dataset.string_column("id");
  }

  // Whether a file of the set has these bytes anywhere.
  bool has_bytes(const std::string& bytes) const {
    for (const auto& entry : fs::recursive_directory_iterator(set_)) {
      if (entry.is_regular_file() &&
          testing::read_file(entry.path()).find(bytes) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

  static constexpr int64_t kSalt = 0x5A5A1234;
  TempDir dir_;
  const fs::path set_ = dir_ / "set";
};

TEST_F(RemoveTest, LeavesNoByteOfTheRecords) {
  make();
  const std::vector<std::string> before = ids("train");
  const std::string fingerprint = Dataset::open(set_, "train").fingerprint();
  ASSERT_GT(Dataset::open(set_, "train").num_shards(), 2);
  ASSERT_TRUE(has_bytes("sample-5\""));  // in the report
  ASSERT_TRUE(has_bytes("sample-2999"));
  const RemoveSummary summary =
      remove_records(set_, {.ids = {{"sample-1", "sample-2999", "sample-5", "nobody"}}});
  EXPECT_EQ(summary.num_removed, 3);
  EXPECT_EQ(summary.splits.size(), 2U);
  EXPECT_THAT(summary.not_found, ElementsAre("nobody", "sample-5"));
  std::vector<std::string> wanted = before;
  std::erase(wanted, "sample-1");
  std::erase(wanted, "sample-2999");
  EXPECT_EQ(ids("train"), wanted);
  EXPECT_THAT(ids("val"), ElementsAre("other"));
  EXPECT_FALSE(has_bytes("sample-2999"));
  EXPECT_FALSE(has_bytes("sample-5\""));
  EXPECT_NE(Dataset::open(set_, "train").fingerprint(), fingerprint);
}

TEST_F(RemoveTest, KeepsCodesColumnsAndWhatElseTheShardHas) {
  make({.zstd_level = 3, .zstd_dictionary_bytes = 4096});
  const Dataset before = Dataset::open(set_, "train");
  const std::vector<int64_t> labels = before.int_column("label");
  std::vector<std::byte> first;
  before.read(0, first);
  const std::string last = before.string_column("id").back();
  remove_records(set_, {.ids = {{last}}});
  const Dataset after = Dataset::open(set_, "train");
  EXPECT_EQ(after.num_records(), before.num_records() - 1);
  EXPECT_EQ(after.int_column("label"), std::vector(labels.begin(), labels.end() - 1));
  std::vector<std::byte> now;
  after.read(0, now);
  EXPECT_EQ(now, first);
  after.read(after.num_records() - 1, now);
}

TEST_F(RemoveTest, RefusesAndChangesNothing) {
  make();
  const std::vector<std::string> before = ids("train");
  EXPECT_ERROR(remove_records(set_, {.ids = {{"nobody"}}}), not_found);
  EXPECT_ERROR(remove_records(set_, {.ids = {{"sample-1", "other"}}}), invalid_argument);
  EXPECT_ERROR_CODE(remove_records(set_, {.ids = {std::vector<std::string>()}}), invalid_argument);
  EXPECT_ERROR(remove_records("s3://bucket/set", {.ids = {{"sample-1"}}}), unsupported);
  const std::atomic<bool> cancel{true};
  EXPECT_ERROR(remove_records(set_, {.ids = {{"sample-2"}}, .cancel = &cancel}), cancelled);
  EXPECT_EQ(ids("train"), before);
}

TEST_F(RemoveTest, IsTheOldSetOrTheNewOneAfterAKill) {
  make();
  const std::vector<std::string> before = ids("train");
  std::vector<std::string> after = before;
  std::erase(after, "sample-7");
  std::erase(after, "sample-2000");
  const fs::path original = dir_ / "original";
  fs::rename(set_, original);
  std::mt19937 random(11);
  int num_old = 0;
  for (int i = 0; i < 40; ++i) {
    fs::remove_all(set_);
    fs::copy(original, set_, fs::copy_options::recursive);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        remove_records(set_, {.ids = {{"sample-7", "sample-2000"}}});
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 30'000)(random));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const std::vector<std::string> now = ids("train");
    ASSERT_TRUE(now == before || now == after);
    num_old += now == before ? 1 : 0;
    // The same call makes it whole.
    try {
      remove_records(set_, {.ids = {{"sample-7", "sample-2000"}}});
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::not_found);  // it had been whole
    }
    EXPECT_EQ(ids("train"), after);
    EXPECT_FALSE(has_bytes("sample-2000"));
  }
  RecordProperty("old", num_old);
}

}  // namespace
}  // namespace ffkit
