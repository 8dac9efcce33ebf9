#include "io/shard_files.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

class CachedReaderTest : public ::testing::Test {
 protected:
  CachedReader make(const IoOptions& options) {
    files_.emplace(dataset_, 1, options.direct);
    return {*files_, options, stats_};
  }
  bool holds(CachedReader& reader, int64_t record) const {
    const RecordLocation where = dataset_.locate(record).record;
    return reader.holds(files_->lease(0).descriptor, where.offset, where.stored_bytes);
  }
  void drop_cache() const {
    const int fd = open(dataset_.shard(0).path().c_str(), O_RDONLY | O_CLOEXEC);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }

  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_shards = 1});
  IoOptions options_{.direct = DirectIo::off};
  StatsCounters stats_;
  std::optional<ShardFiles> files_;
  std::vector<std::byte> buffer_;
};

TEST_F(CachedReaderTest, ReadsTheStoredBytes) {
  const CachedReader reader = make(options_);
  std::vector<std::byte> expected;
  for (int64_t i : {0, 39, 17}) {
    const Dataset::Location location = dataset_.locate(i);
    const auto stored = reader.read(location, buffer_);
    dataset_.read(i, expected);  // these are stored as they are
    EXPECT_TRUE(std::equal(stored.begin(), stored.end(), expected.begin(), expected.end()));
  }
  EXPECT_EQ(stats_.num_reads, 3);
  EXPECT_GT(stats_.bytes_read, 3000);
}

TEST_F(CachedReaderTest, KnowsWhatThePageCacheHolds) {
  CachedReader reader = make(options_);
  dataset_.read(5, buffer_);
  if (!holds(reader, 5)) GTEST_SKIP() << "this file system cannot tell";
  drop_cache();
  if (holds(reader, 5)) GTEST_SKIP() << "this file system keeps what it should drop";
  const auto stored = reader.read(dataset_.locate(5), buffer_);  // from the disk, all the same
  EXPECT_EQ(std::ssize(stored), dataset_.locate(5).record.stored_bytes);
  EXPECT_TRUE(holds(reader, 5));
}

TEST_F(CachedReaderTest, IsOffWhereItCannotOrMustNotBe) {
  dataset_.read(5, buffer_);
  options_.decoders_read_cache = false;
  CachedReader forbidden = make(options_);
  EXPECT_FALSE(holds(forbidden, 5));
  options_ = {.direct = DirectIo::on};
  try {
    CachedReader direct = make(options_);
    EXPECT_FALSE(holds(direct, 5));
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::unsupported);
  }
}

TEST_F(CachedReaderTest, NamesTheRecordOfACutFile) {
  const CachedReader reader = make(options_);
  const Dataset::Location location = dataset_.locate(22);
  for (const int64_t num_left : {10, 0}) {
    std::filesystem::resize_file(dataset_.shard(0).path(),
                                 static_cast<uintmax_t>(location.record.offset + num_left));
    EXPECT_ERROR(reader.read(location, buffer_), io, .record = 22, .subject = shard);
  }
}

}  // namespace
}  // namespace ffkit
