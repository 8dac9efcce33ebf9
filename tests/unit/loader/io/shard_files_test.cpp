#include "io/shard_files.h"

#include <sys/resource.h>

#include "loader_prelude.h"

namespace ffkit {
namespace {

// A file open for reading, of its own descriptor.
class TestFile {
 public:
  explicit TestFile(const std::filesystem::path& path)
      : file_{path, open(path.c_str(), O_RDONLY | O_CLOEXEC)} {}
  ~TestFile() { close(file_.descriptor); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  const ReadFile& get() const { return file_; }

 private:
  ReadFile file_;
};

std::filesystem::path write_file(const std::filesystem::path& path) {
  std::ofstream(path) << std::string(10000, 'x');
  return path;
}

bool takes_direct_io(const std::filesystem::path& path) {
  const int probe = open(path.c_str(), O_RDONLY | O_DIRECT);
  if (probe >= 0) close(probe);
  return probe >= 0;
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
  const TestFile a(write_file(dir / "a"));
  const TestFile b(write_file(dir / "b"));
  const ShardFiles files({a.get(), b.get()}, 20000, DirectIo::off);
  ASSERT_EQ(files.descriptors().size(), 2U);
  EXPECT_FALSE(files.direct());
  EXPECT_EQ(files.alignment(), 1U);
  EXPECT_EQ(files.descriptors()[0], a.get().descriptor);
  EXPECT_EQ(files.path(1), dir / "b");
}

TEST(ShardFiles, OpensWithDirectIoAndItsAlignment) {
  const testing::TempDir dir;
  const auto path = write_file(dir / "a");
  if (!takes_direct_io(path)) GTEST_SKIP() << path << " does not take O_DIRECT";
  const TestFile file(path);
  const ShardFiles files({file.get()}, 10000, DirectIo::on);
  EXPECT_TRUE(files.direct());
  EXPECT_TRUE(has_direct_flag(files.descriptors()[0]));
  EXPECT_FALSE(has_direct_flag(file.get().descriptor));
  EXPECT_GE(files.alignment(), 512U);
  EXPECT_EQ(files.alignment() & (files.alignment() - 1), 0U);
  EXPECT_LE(files.alignment(), 4096U);
}

TEST(ShardFiles, OpensShardsWithDirectIoWhenTheyAreNeeded) {
  const testing::TempDir dir;
  testing::make_dataset(dir / "train", {.num_records = 6, .num_shards = 3});
  if (!takes_direct_io(dir / "train/shard-00000.ffr")) GTEST_SKIP() << "no O_DIRECT here";
  const Dataset dataset = Dataset::open(dir / "train", "", {.max_open_shards = 1});
  const ShardFiles files(dataset, 10000, DirectIo::on);
  EXPECT_TRUE(files.direct());
  EXPECT_TRUE(files.descriptors().empty());
  for (const size_t shard : {0, 1, 2, 0}) {
    const ShardReader::OpenFile lease = files.lease(shard);
    EXPECT_TRUE(has_direct_flag(lease.descriptor)) << shard;
    EXPECT_EQ(files.lease(shard).descriptor, lease.descriptor);  // it is kept
  }
}

// procfs never takes O_DIRECT, on any kernel.
TEST(ShardFiles, AutomaticFallsBackWhereDirectIoIsRefused) {
  const TestFile file("/proc/self/status");
  const ShardFiles files({file.get()}, int64_t{1} << 60, DirectIo::automatic);
  EXPECT_FALSE(files.direct());
  EXPECT_EQ(files.alignment(), 1U);
  EXPECT_EQ(files.descriptors(), std::vector{file.get().descriptor});
}

TEST(ShardFiles, AutomaticFallsBackForAllWhenOneIsRefused) {
  const testing::TempDir dir;
  const TestFile a(write_file(dir / "a"));
  const TestFile b("/proc/self/status");
  const ShardFiles files({a.get(), b.get()}, int64_t{1} << 60, DirectIo::automatic);
  EXPECT_FALSE(files.direct());
  EXPECT_EQ(files.descriptors(), (std::vector{a.get().descriptor, b.get().descriptor}));
}

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

TEST(ShardFiles, ClosesItsOwnDescriptorsAlone) {
  const testing::TempDir dir;
  const auto path = write_file(dir / "a");
  if (!takes_direct_io(path)) GTEST_SKIP() << path << " does not take O_DIRECT";
  const TestFile file(path);
  const TestFile refusing("/proc/self/status");
  std::optional<ShardFiles> files;
  files.emplace(std::vector{file.get()}, 10000, DirectIo::on);
  const int own = files->descriptors()[0];
  files.reset();
  EXPECT_FALSE(is_open(own));
  EXPECT_TRUE(is_open(file.get().descriptor));
  // What it opened before another file refused is closed then, and not again at its end.
  files.emplace(std::vector{file.get(), refusing.get()}, int64_t{1} << 60, DirectIo::automatic);
  EXPECT_FALSE(files->direct());
  EXPECT_FALSE(is_open(own)) << "the same number as before";
  const TestFile later(path);
  ASSERT_EQ(later.get().descriptor, own);
  files.reset();
  EXPECT_TRUE(is_open(own));
}

TEST(ShardFiles, AskingForDirectIoWhereItIsRefusedIsAnError) {
  const TestFile file("/proc/self/status");
  EXPECT_ERROR(ShardFiles({file.get()}, 1, DirectIo::on), unsupported);
}

TEST(ShardFiles, DirectIoIsOfTheReadFileWhateverHasItsNameNow) {
  const testing::TempDir dir;
  const auto path = write_file(dir / "a");
  if (!takes_direct_io(path)) GTEST_SKIP() << path << " does not take O_DIRECT";
  const TestFile file(path);
  std::filesystem::remove(path);
  const ShardFiles files({file.get()}, 10000, DirectIo::on);
  EXPECT_EQ(files.missing_bytes(0, 10001), 1);
}

// The records of a subset are what is read, and each of them once.
TEST(ShardFiles, BytesOfASubsetAreThoseOfItsRecords) {
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train");
  EXPECT_EQ(bytes_of_records(dataset), dataset.manifest().file_bytes());
  EXPECT_EQ(bytes_of_records(dataset.subset({})), 0);
  // 13 records are all of shard 0.
  std::vector<int64_t> records;
  for (int64_t i = 0; i < 13; ++i) records.insert(records.end(), {i, i});
  EXPECT_NEAR(static_cast<double>(bytes_of_records(dataset.subset(records))),
              static_cast<double>(dataset.shard(0).facts().record_bytes), 1);
  // A subset of a subset, over two shards.
  const int64_t two = bytes_of_records(dataset.subset({39, 20, 1}).subset({2, 0}));
  EXPECT_GT(two, dataset.locate(1).record.stored_bytes);
  EXPECT_LT(two, 4 * dataset.locate(1).record.stored_bytes);
}

// More files than the soft limit allows, and than the hard one does. A shard takes one descriptor,
// a second one with O_DIRECT.
TEST(ShardFiles, OpenAsManyAsTheHardLimitAllows) {
  const testing::TempDir dir;
  const testing::DatasetSpec spec{.num_records = 60, .num_shards = 60};
  testing::make_dataset(dir / "train", spec);
  const auto child = [&](rlim_t hard, DirectIo direct) {
    const rlimit limit{40, hard};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(2);
    try {
      const Dataset dataset = Dataset::open(dir / "train");
      LoaderOptions options;
      options.num_threads = 1;
      options.batch_size = 60;
      options.io.direct = direct;
      options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
      if (Loader(dataset, options).next()->size() != 60) _exit(3);
    } catch (const Error& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  };
  constexpr rlim_t others = 30;  // what a process has open besides
  EXPECT_EXIT(child(others + 60, DirectIo::off), ::testing::ExitedWithCode(0), "");
  const bool has_direct_io = takes_direct_io(dir / "train" / "shard-00000.ffr");
  if (has_direct_io) {
    EXPECT_EXIT(child(others + 120, DirectIo::on), ::testing::ExitedWithCode(0), "");
  }
#ifndef __SANITIZE_ADDRESS__  // UBSan opens a pipe to look at an exception's type
  EXPECT_EXIT(child(50, DirectIo::off), ::testing::ExitedWithCode(1), "shard-000.*ulimit -n");
  EXPECT_EXIT(child(40, DirectIo::off), ::testing::ExitedWithCode(1), "shard-000.*ulimit -n");
  if (has_direct_io) {
    EXPECT_EXIT(child(others + 60, DirectIo::on), ::testing::ExitedWithCode(1),
                "shard-000.*ulimit -n");
  }
#endif
}

}  // namespace
}  // namespace ffkit
