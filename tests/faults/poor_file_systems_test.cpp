// File systems without flock(2), such as Lustre mounted without it, some NFS and some FUSE, and
// file systems without fsync or rename.
#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/v1.h>
#include <ffkit/format/dataset.h>

#include "converter/output/destination.h"
#include "fake_source.h"
#include "faults/system_calls.h"
#include "test_prelude.h"

namespace {

int flock_error = 0;
int fsync_error = 0;
int rename_error = 0;
bool only_folders = false;  // are not renamed

int poor_flock(int fd, int operation) {
  if (flock_error == 0) return ffkit::testing::real_calls.flock(fd, operation);
  errno = flock_error;
  return -1;
}

int poor_fsync(int fd) {
  if (fsync_error == 0) return ffkit::testing::real_calls.fsync(fd);
  errno = fsync_error;
  return -1;
}

int poor_rename(const char* from, const char* to) {
  const bool is_hit = !only_folders || std::filesystem::is_directory(from);
  if (rename_error == 0 || !is_hit) return ffkit::testing::real_calls.rename(from, to);
  errno = rename_error;
  return -1;
}

}  // namespace

namespace ffkit {
namespace {

using testing::FakeSource;

class PoorFileSystemTest : public ::testing::Test {
 protected:
  PoorFileSystemTest() {
    options_.note = merging_.note = [this](const std::string& n) { notes_.push_back(n); };
    options_.num_threads = 1;
  }
  ~PoorFileSystemTest() override {
    flock_error = fsync_error = rename_error = 0;
    only_folders = false;
  }

  bool was_noted(const std::string& words) const {
    return std::ranges::any_of(
        notes_, [&](const std::string& n) { return n.find(words) != std::string::npos; });
  }
  // All that starts with a dot in the folders.
  static std::vector<std::string> hidden_files(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with('.')) names.push_back(name);
    }
    return names;
  }

  ffkit::testing::Replaced<&ffkit::testing::Calls::flock> flock_{poor_flock};
  ffkit::testing::Replaced<&ffkit::testing::Calls::fsync> fsync_{poor_fsync};
  ffkit::testing::Replaced<&ffkit::testing::Calls::rename> rename_{poor_rename};
  TempDir dir_;
  FakeSource source_{5};
  std::vector<std::string> notes_;
  ConvertOptions options_;
  MergeOptions merging_{.duplicates = Duplicates::keep};
};

class NoLocks : public PoorFileSystemTest, public ::testing::WithParamInterface<int> {
 protected:
  NoLocks() { flock_error = GetParam(); }
};

TEST_P(NoLocks, AreMadeUpForByFilesWithANote) {
  convert(source_, dir_ / "a", options_);
  EXPECT_TRUE(was_noted("its file system has no locks")) << ::testing::PrintToString(notes_);
  notes_.clear();
  convert(FakeSource(3), dir_ / "b", options_);
  notes_.clear();
  merge_datasets(dir_ / "c", {dir_ / "a"}, merging_);
  EXPECT_TRUE(was_noted("its file system has no locks"));
  notes_.clear();
  append_datasets(dir_ / "c", {dir_ / "b"}, merging_);
  EXPECT_TRUE(was_noted("its file system has no locks"));
  EXPECT_EQ(Dataset::open(dir_ / "c", "train").num_records(), 8);
  EXPECT_EQ(hidden_files(dir_.path()), std::vector<std::string>{});
}

TEST_P(NoLocks, LetNoTwoProcessesWriteToAFolder) {
  const auto first = Destination::claim(dir_ / "a");
  EXPECT_ERROR(convert(source_, dir_ / "a", options_), invalid_argument);
}

TEST_P(NoLocks, LeaveNothingBehindWhereAConversionFails) {
  options_.bad_samples = BadSamples::fail;
  EXPECT_ERROR(convert(FakeSource(3, {1}), dir_ / "a", options_), corrupt, .subject = sample);
  EXPECT_FALSE(fs::exists(dir_ / "a"));
}

TEST_P(NoLocks, LetAKilledConversionGoOnOnTheSameMachine) {
  // The child begins, and dies with its claim and marker in place.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const FakeSource source(5);
    source_.on_read = nullptr;
    ConvertOptions options;
    options.num_threads = 1;
    const auto claimed = Destination::claim(dir_ / "a");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(hidden_files(dir_ / "a").size(), 2U);
  options_.resume = true;
  convert(source_, dir_ / "a", options_);
  EXPECT_EQ(hidden_files(dir_ / "a"), std::vector<std::string>{});
}

TEST_P(NoLocks, LeaveAClaimOfAnotherMachineToTheUser) {
  testing::write_file(dir_ / "a/.ffkit-in-use-1",
                      "host node17\npid 4711\nboot b\npid-space p\nbegin 1\n");
  EXPECT_ERROR(convert(source_, dir_ / "a", options_), invalid_argument);
  // No marker was left behind.
  EXPECT_EQ(hidden_files(dir_ / "a"), std::vector<std::string>{".ffkit-in-use-1"});
  fs::remove(dir_ / "a/.ffkit-in-use-1");
  convert(source_, dir_ / "a", options_);
}

INSTANTIATE_TEST_SUITE_P(Errors, NoLocks, ::testing::Values(ENOSYS, EOPNOTSUPP, ENOLCK));

class PoorFileSystem : public PoorFileSystemTest {};

TEST_F(PoorFileSystem, WithoutFsyncGetsANote) {
  for (const int error : {EINVAL, ENOTSUP, ENOSYS}) {
    fsync_error = error;
    notes_.clear();
    const fs::path folder = dir_ / std::to_string(error);
    convert(source_, folder, options_);
    EXPECT_EQ(notes_.size(), 1U);
    EXPECT_TRUE(was_noted("its file system has no fsync"));
    EXPECT_EQ(Dataset::open(folder, "train").num_records(), 5);
  }
  fsync_error = EIO;
  EXPECT_ERROR(convert(source_, dir_ / "eio", options_), io);
}

TEST_F(PoorFileSystem, WithoutRenameIsRefusedBeforeTheWork) {
  convert(source_, dir_ / "a", options_);
  rename_error = ENOTSUP;
  const int64_t num_reads = source_.num_reads;
  EXPECT_ERROR(convert(source_, dir_ / "b", options_), unsupported);
  EXPECT_EQ(source_.num_reads, num_reads);
  EXPECT_FALSE(fs::exists(dir_ / "b"));
  only_folders = true;
  EXPECT_ERROR(write_v1({Dataset::open(dir_ / "a", "train")}, dir_ / "v1", {}), unsupported);
  EXPECT_FALSE(fs::exists(dir_ / "v1"));
}

TEST_F(PoorFileSystem, LinksThatLeadNowhereAreNamed) {
  fs::create_directory_symlink(dir_ / "nowhere", dir_ / "link");
  for (const char* name : {"link", "link/set"}) {
    EXPECT_ERROR(check_destination(dir_ / name, false), invalid_argument);
    EXPECT_ERROR(convert(source_, dir_ / name, options_), invalid_argument);
  }
  convert(source_, dir_ / "a", options_);
  EXPECT_ERROR(merge_datasets(dir_ / "link", {dir_ / "a"}, merging_), invalid_argument);
  fs::create_directory(dir_ / "nowhere");
  convert(source_, dir_ / "link", options_);
  EXPECT_EQ(Dataset::open(dir_ / "nowhere", "train").num_records(), 5);
}

}  // namespace
}  // namespace ffkit
