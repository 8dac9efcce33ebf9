#include "shard_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "expect_error.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

std::filesystem::path write_file(const std::filesystem::path& path) {
  std::ofstream(path) << std::string(10000, 'x');
  return path;
}

bool has_direct_flag(int fd) {
  return (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
}

TEST(ShardFiles, AutomaticWantsDirectIoForMoreThanHalfOfTheMemory) {
  EXPECT_FALSE(wants_direct_io(DirectIo::automatic, 500, 1000));
  EXPECT_TRUE(wants_direct_io(DirectIo::automatic, 501, 1000));
  EXPECT_TRUE(wants_direct_io(DirectIo::on, 1, 1000));
  EXPECT_FALSE(wants_direct_io(DirectIo::off, 5000, 1000));
}

TEST(ShardFiles, OpensThroughThePageCache) {
  const testing::TempDir dir;
  const ShardFiles files({write_file(dir / "a"), write_file(dir / "b")}, 20000, DirectIo::off);
  ASSERT_EQ(files.descriptors().size(), 2U);
  EXPECT_FALSE(files.direct());
  EXPECT_EQ(files.alignment(), 1U);
  EXPECT_FALSE(has_direct_flag(files.descriptors()[0]));
  EXPECT_EQ(files.path(1), dir / "b");
}

TEST(ShardFiles, OpensWithDirectIoAndItsAlignment) {
  const testing::TempDir dir;
  const auto path = write_file(dir / "a");
  const int probe = open(path.c_str(), O_RDONLY | O_DIRECT);
  if (probe < 0) GTEST_SKIP() << "the file system of " << path << " does not take O_DIRECT";
  close(probe);
  const ShardFiles files({path}, 10000, DirectIo::on);
  EXPECT_TRUE(files.direct());
  EXPECT_TRUE(has_direct_flag(files.descriptors()[0]));
  EXPECT_GE(files.alignment(), 512U);
  EXPECT_EQ(files.alignment() & (files.alignment() - 1), 0U);
  EXPECT_LE(files.alignment(), 4096U);
}

// procfs never takes O_DIRECT, on any kernel.
TEST(ShardFiles, AutomaticFallsBackWhereDirectIoIsRefused) {
  const ShardFiles files({"/proc/self/status"}, int64_t{1} << 60, DirectIo::automatic);
  EXPECT_FALSE(files.direct());
  EXPECT_EQ(files.alignment(), 1U);
  ASSERT_EQ(files.descriptors().size(), 1U);
}

TEST(ShardFiles, AutomaticFallsBackForAllWhenOneIsRefused) {
  const testing::TempDir dir;
  const ShardFiles files({write_file(dir / "a"), "/proc/self/status"}, int64_t{1} << 60,
                         DirectIo::automatic);
  EXPECT_FALSE(files.direct());
  ASSERT_EQ(files.descriptors().size(), 2U);
  EXPECT_FALSE(has_direct_flag(files.descriptors()[0]));
}

TEST(ShardFiles, AskingForDirectIoWhereItIsRefusedIsAnError) {
  EXPECT_ERROR(ShardFiles({"/proc/self/status"}, 1, DirectIo::on), unsupported,
               "/proc/self/status: direct I/O was asked for");
}

TEST(ShardFiles, MissingFileIsNamed) {
  EXPECT_ERROR(ShardFiles({"/nowhere/shard-00000.ffr"}, 1, DirectIo::off), not_found,
               "/nowhere/shard-00000.ffr");
}

}  // namespace
}  // namespace ffkit
