// Whether the converter notices a disk that seeks slowly, and one that cannot be read.
#include <ffkit/sources/webdataset.h>

#include "converter/output/make_shards.h"
#include "fake_source.h"
#include "faults/system_calls.h"
#include "tar_builder.h"
#include "test_prelude.h"

namespace {

constexpr int64_t kSeekBytes = 4 << 20;  // further away than this, the head has to move

std::mutex head_mutex;  // the head; guards what follows
std::chrono::nanoseconds seek_time{0};
std::chrono::nanoseconds read_time{0};
int64_t head = 0;
std::vector<int64_t> offsets;
bool past_cache = true;  // all of them
bool is_broken = false;

ssize_t pread_by_a_head(int fd, void* data, size_t num_bytes, off_t offset) {
  const std::scoped_lock lock(head_mutex);
  if (std::abs(offset - head) > kSeekBytes) ffkit::testing::passed_ns += seek_time.count();
  ffkit::testing::passed_ns += read_time.count();
  head = offset;
  offsets.push_back(offset);
  past_cache = past_cache && (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
  if (is_broken) {
    errno = EIO;
    return -1;
  }
  return ffkit::testing::real_calls.pread(fd, data, num_bytes, offset);
}

}  // namespace

namespace ffkit {
namespace {

constexpr int64_t kArchiveBytes = int64_t{5} << 28;  // 1.25 GiB, all of it a hole

class ArchiveSource : public testing::FakeSource {
 public:
  explicit ArchiveSource(std::filesystem::path archive)
      : FakeSource(100), archive_(std::move(archive)) {}
  std::filesystem::path archive(size_t /*split*/) const override { return archive_; }
  int64_t position(size_t /*split*/, int64_t index) const override { return index; }

 private:
  std::filesystem::path archive_;
};

class SlowDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(archive_).close();
    std::filesystem::resize_file(archive_, kArchiveBytes);
    offsets.clear();
    seek_time = std::chrono::minutes(1);
    read_time = {};
  }
  static bool dislikes(const Source& source, const std::vector<int64_t>& samples) {
    const PackUnit unit{.number = 0, .samples = samples};
    return dislikes_scattered_reads(source, 0, std::span(&unit, 1));
  }

  ffkit::testing::Replaced<&ffkit::testing::Calls::pread> pread_{pread_by_a_head};
  testing::TempDir dir_;
  const std::filesystem::path archive_ = dir_ / "a.tar";
  const std::vector<int64_t> scattered_ = {3, 1, 2};
};

TEST_F(SlowDiskTest, IsToldFromAFastOneByItsSeeks) {
  const int fd = open(archive_.c_str(), O_RDONLY | O_DIRECT);
  if (fd < 0) GTEST_SKIP() << "the file system has no O_DIRECT";
  close(fd);
  ASSERT_TRUE(dislikes(ArchiveSource(archive_), scattered_)) << "seeks go unnoticed";
  // One to wake the disk, then 24 in a row, then 24 all over the file.
  ASSERT_EQ(offsets.size(), 49U);
  EXPECT_TRUE(past_cache);
  std::vector<int64_t> run(offsets.begin() + 1, offsets.begin() + 25);
  std::ranges::sort(run);
  for (size_t i = 0; i < run.size(); ++i) {
    EXPECT_EQ(run[i], run[0] + static_cast<int64_t>(i) * (128 << 10)) << i;
  }
  EXPECT_NEAR(static_cast<double>(run[0]), 0.5 * kArchiveBytes, 1 << 20);
  std::vector<int64_t> apart(offsets.begin() + 25, offsets.end());
  std::ranges::sort(apart);
  for (size_t i = 0; i < apart.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(apart[i]), static_cast<double>(i) / 24 * kArchiveBytes, 1 << 20)
        << i;
  }
  // A fast one takes as long for each.
  seek_time = {};
  read_time = std::chrono::minutes(1);
  EXPECT_FALSE(dislikes(ArchiveSource(archive_), scattered_));
}

TEST_F(SlowDiskTest, IsNotAskedWhereItDoesNotMatter) {
  EXPECT_FALSE(dislikes(ArchiveSource(archive_), {1, 2, 3})) << "in the archive's order";
  EXPECT_FALSE(dislikes(ArchiveSource({}), scattered_)) << "no archive";
  EXPECT_FALSE(dislikes(ArchiveSource(dir_ / "none.tar"), scattered_));
  std::filesystem::resize_file(archive_, (int64_t{1} << 30) - 1);
  EXPECT_FALSE(dislikes(ArchiveSource(archive_), scattered_)) << "read in no time";
  EXPECT_TRUE(offsets.empty());
}

// A damaged archive is to be downloaded again, a disk is to be replaced.
TEST(BrokenDisk, IsNotTakenForADamagedArchive) {
  const testing::TempDir dir;
  testing::write_file(dir / "train/0.tar", testing::TarBuilder().add("a.txt", "text").finish());
  EXPECT_EQ(open_webdataset(dir.path())->splits().size(), 1U);
  const testing::Replaced<&testing::Calls::pread> broken{pread_by_a_head};
  is_broken = true;
  EXPECT_ERROR(open_webdataset(dir.path()), io);
  is_broken = false;
}

}  // namespace
}  // namespace ffkit
