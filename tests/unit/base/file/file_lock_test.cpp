#include "base/file/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/file/file.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

using Mode = FileLock::Mode;

FileLock open_lock(const std::filesystem::path& path) {
  return FileLock(open_descriptor(path, O_RDONLY));
}

TEST(FileLock, ReadersShareAndAWriterIsAlone) {
  const testing::TempDir dir;
  FileLock first = open_lock(dir.path());
  FileLock second = open_lock(dir.path());
  EXPECT_EQ(first.try_lock(Mode::shared), 0);
  EXPECT_EQ(second.try_lock(Mode::shared), 0);
  EXPECT_EQ(first.try_lock(Mode::exclusive), EWOULDBLOCK);
  second.close();
  EXPECT_FALSE(second.is_open());
  EXPECT_EQ(first.try_lock(Mode::exclusive), 0);
  FileLock third = open_lock(dir.path());
  EXPECT_EQ(third.try_lock(Mode::shared), EWOULDBLOCK);
  EXPECT_TRUE(third.is_open());
}

TEST(FileLock, GoesWithItsOwner) {
  const testing::TempDir dir;
  FileLock other = open_lock(dir.path());
  {
    FileLock owner;
    {
      FileLock maker = open_lock(dir.path());
      ASSERT_EQ(maker.try_lock(Mode::exclusive), 0);
      owner = std::move(maker);
    }
    EXPECT_EQ(other.try_lock(Mode::shared), EWOULDBLOCK);
  }
  EXPECT_EQ(other.try_lock(Mode::shared), 0);
}

TEST(FileLock, NoticesThatItsFileWasReplaced) {
  const testing::TempDir dir;
  const std::filesystem::path file = dir / "file";
  const std::filesystem::path moved = dir / "moved";
  std::ofstream(file) << "old";
  const FileLock lock = open_lock(file);
  EXPECT_TRUE(lock.is_still_at(file));
  std::filesystem::rename(file, moved);
  EXPECT_FALSE(lock.is_still_at(file));
  std::ofstream(file) << "new";
  EXPECT_FALSE(lock.is_still_at(file));
  EXPECT_TRUE(lock.is_still_at(moved));
  std::filesystem::remove(file);
  std::filesystem::create_symlink(moved, file);
  EXPECT_FALSE(lock.is_still_at(file));
}

TEST(FileLock, OfNoFileSaysSo) {
  FileLock none;
  EXPECT_FALSE(none.is_open());
  EXPECT_EQ(none.try_lock(Mode::shared), EBADF);
}

}  // namespace
}  // namespace ffkit
