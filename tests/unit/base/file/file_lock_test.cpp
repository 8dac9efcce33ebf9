#include "base/file/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <ffkit/base/error.h>

#include "base/file/file.h"
#include "expect_error.h"
#include "temp_dir.h"
#include "whole_files.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

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
  EXPECT_TRUE(is_open_file_at(file, lock.fd()));
  std::filesystem::rename(file, moved);
  EXPECT_FALSE(is_open_file_at(file, lock.fd()));
  std::ofstream(file) << "new";
  EXPECT_FALSE(is_open_file_at(file, lock.fd()));
  EXPECT_TRUE(is_open_file_at(moved, lock.fd()));
  std::filesystem::remove(file);
  std::filesystem::create_symlink(moved, file);
  EXPECT_FALSE(is_open_file_at(file, lock.fd()));
}

TEST(FileLock, OfNoFileSaysSo) {
  FileLock none;
  EXPECT_FALSE(none.is_open());
  EXPECT_EQ(none.try_lock(Mode::shared), EBADF);
}

using testing::TempDir;
using Mode = FileLock::Mode;

size_t num_files(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

// The text of a claim of this process, with one line of it changed.
std::string claim_with(const fs::path& folder, const std::string& key, const std::string& value) {
  ClaimFile claim;
  EXPECT_FALSE(claim.claim(folder, Mode::exclusive).is_anybody());
  std::string text = testing::read_file(claim.path());
  const size_t begin = text.find(key + " ");
  EXPECT_NE(begin, std::string::npos);
  return text.replace(begin, text.find('\n', begin) - begin, key + " " + value);
}

TEST(ClaimFile, NamesTheProcessThatUsesTheFolder) {
  const TempDir dir;
  ClaimFile first;
  ASSERT_FALSE(first.claim(dir.path(), Mode::exclusive).is_anybody());
  ClaimFile second;
  const ClaimFile::User user = second.claim(dir.path(), Mode::exclusive);
  EXPECT_TRUE(user.is_here);
  EXPECT_NE(user.words.find("process " + std::to_string(::getpid())), std::string::npos);
  EXPECT_NE(user.words.find(first.path().string()), std::string::npos);
  EXPECT_FALSE(second.is_held());
  first.release();
  EXPECT_FALSE(second.claim(dir.path(), Mode::exclusive).is_anybody());
}

TEST(ClaimFile, ReadersShareAndAWriterIsAlone) {
  const TempDir dir;
  ClaimFile writer;
  {
    ClaimFile first;
    ClaimFile second;
    EXPECT_FALSE(first.claim(dir.path(), Mode::shared).is_anybody());
    EXPECT_FALSE(second.claim(dir.path(), Mode::shared).is_anybody());
    EXPECT_TRUE(writer.claim(dir.path(), Mode::exclusive).is_anybody());
  }
  EXPECT_FALSE(writer.claim(dir.path(), Mode::exclusive).is_anybody());
  ClaimFile reader;
  EXPECT_TRUE(reader.claim(dir.path(), Mode::shared).is_anybody());
  writer.release();
  EXPECT_EQ(num_files(dir.path()), 0U);
}

TEST(ClaimFile, TakesOverFromDeadProcessesOfThisMachine) {
  const TempDir dir;
  const TempDir other;
  // A process of this number began at another time, or the machine has been started again since.
  for (const auto& [key, value] : {std::pair("begin", "1"), std::pair("boot", "of-yesterday")}) {
    testing::write_file(dir / ".ffkit-in-use-1", claim_with(other.path(), key, value));
    ClaimFile claim;
    EXPECT_FALSE(claim.claim(dir.path(), Mode::exclusive).is_anybody()) << key;
    EXPECT_EQ(claim.path().filename(), ".ffkit-in-use-2");
    EXPECT_FALSE(fs::exists(dir / ".ffkit-in-use-1"));
  }
}

TEST(ClaimFile, LeavesTheClaimsOfOtherMachinesAndContainersToTheUser) {
  const TempDir dir;
  const TempDir other;
  for (const auto& [key, value] :
       {std::pair("host", "node17"), std::pair("pid-space", "pid:[1]"), std::pair("pid", "0")}) {
    testing::write_file(dir / ".ffkit-in-use-1", claim_with(other.path(), key, value));
    ClaimFile claim;
    const ClaimFile::User user = claim.claim(dir.path(), Mode::exclusive);
    EXPECT_TRUE(user.is_anybody()) << key;
    EXPECT_FALSE(user.is_here) << key;
    EXPECT_TRUE(fs::exists(dir / ".ffkit-in-use-1"));
  }
  testing::write_file(dir / ".ffkit-in-use-1", "");  // just made, or of another program
  ClaimFile claim;
  EXPECT_TRUE(claim.claim(dir.path(), Mode::exclusive).is_anybody());
}

TEST(ClaimFile, CountsOnFileSystemsWithLocksAsWell) {
  const TempDir dir;
  FileLock lock(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  ClaimFile claim;
  ASSERT_TRUE(hold_folder(dir.path(), Mode::exclusive, lock, claim).is_taken);
  EXPECT_FALSE(claim.is_held());
  EXPECT_EQ(num_files(dir.path()), 0U);
  lock.close();

  ClaimFile others;
  ASSERT_FALSE(others.claim(dir.path(), Mode::exclusive).is_anybody());
  FileLock again(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_FALSE(hold_folder(dir.path(), Mode::exclusive, again, claim).is_taken);
}

TEST(ClaimFile, ThrowsWhereNoFileCanBeMade) {
  ClaimFile claim;
  EXPECT_ERROR(claim.claim("/nowhere", Mode::exclusive), io);
}

}  // namespace

TEST(IsRunning, AProcessThatHasEndedDoesNotRun) {
  EXPECT_TRUE(is_running(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_running(child));  // still a zombie
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_running(child));
}

}  // namespace ffkit
