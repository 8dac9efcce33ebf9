// The loader on kernels and file systems that cannot do what newer ones can, or do not tell: it
// reads all the same.
#include <liburing.h>
#include <sys/uio.h>

#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "faults/system_calls.h"
#include "io/kernel_read_engine.h"
#include "io/shard_files.h"
#include "make_dataset.h"
#include "test_prelude.h"

namespace {

// Whether the page cache tells what it holds, and how often it was asked.
std::atomic<bool> cache_tells = true;
std::atomic<int> num_cache_asked = 0;
// Flags of a ring.
std::atomic<unsigned> known_flags = ~0U;
// What statx() says of a file instead of the truth.
std::function<int(struct statx&)> say_of_file;

ssize_t older_preadv2(int fd, const iovec* data, int count, off_t offset, int flags) {
  ++num_cache_asked;
  if (cache_tells) return ffkit::testing::real_calls.preadv2(fd, data, count, offset, flags);
  errno = EOPNOTSUPP;
  return -1;
}
int older_statx(int folder, const char* path, int flags, unsigned mask, struct statx* info) {
  return say_of_file ? say_of_file(*info)
                     : ffkit::testing::real_calls.statx(folder, path, flags, mask, info);
}
int older_queue_init(unsigned entries, io_uring* ring, io_uring_params* params) {
  if ((params->flags & ~known_flags) != 0) return -EINVAL;
  return ffkit::testing::real_calls.io_uring_queue_init_params(entries, ring, params);
}

}  // namespace

namespace ffkit {
namespace {

LoaderOptions older_options() {
  LoaderOptions out;
  out.batch_size = 5;
  out.num_threads = 2;
  out.io.read_ahead_epochs = false;
  out.image.transform = ResizeCenterCrop{.resize = 20, .size = 16};
  out.sampler = {.tail = Tail::exact, .seed = 1};
  out.io.engine = IoEngine::pread;
  out.io.direct = DirectIo::off;
  return out;
}

// Without RWF_NOWAIT, for which the decoders ask, or the pread engine.
class CacheThatDoesNotTell : public ::testing::TestWithParam<bool> {
 protected:
  void TearDown() override { cache_tells = true; }

  ffkit::testing::Replaced<&ffkit::testing::Calls::preadv2> preadv2_{older_preadv2};
};

TEST_P(CacheThatDoesNotTell, IsNotAskedForEveryRecord) {
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train");
  LoaderOptions options = older_options();
  options.io.decoders_read_cache = GetParam();
  Loader told(dataset, options);
  const auto expected = testing::collect_epoch(told, 0);
  num_cache_asked = 0;
  const auto expected_later = testing::collect_epoch(told, 1);
  EXPECT_GT(num_cache_asked, 0);
  cache_tells = false;
  Loader loader(dataset, options);
  EXPECT_EQ(testing::collect_epoch(loader, 0), expected);
  num_cache_asked = 0;
  EXPECT_EQ(testing::collect_epoch(loader, 1), expected_later);
  EXPECT_EQ(num_cache_asked, 0);
}

INSTANTIATE_TEST_SUITE_P(By, CacheThatDoesNotTell, ::testing::Bool(), [](const auto& made) {
  return std::string(made.param ? "Decoders" : "PreadEngine");
});

// Before Linux 5.18.
TEST(OlderRing, ReadsWithoutNewFlags) {
  ffkit::testing::Replaced<&ffkit::testing::Calls::io_uring_queue_init_params> older{
      older_queue_init};
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  for (const bool sqpoll : {false, true}) {
    known_flags = IORING_SETUP_IOPOLL | IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
    UringRefusal refusal;
    const auto engine = make_uring_read_engine({zeros}, {.sqpoll = sqpoll}, refusal);
    known_flags = ~0U;
    if (engine == nullptr) GTEST_SKIP() << strerrordesc_np(refusal.error);
    std::vector<std::byte> memory(100, std::byte{1});
    engine->submit({.num_bytes = 100, .buffer = memory.data()});
    EXPECT_EQ(engine->wait(1)[0].result, 100);
    EXPECT_EQ(memory, std::vector<std::byte>(100));
    EXPECT_EQ(engine->description(),
              sqpoll ? "io_uring (fixed files, sqpoll)" : "io_uring (fixed files)");
  }
  close(zeros);
}

#ifdef STATX_DIOALIGN

// What statx() says of O_DIRECT: nothing before Linux 6.1.
class DirectAlignment : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      EXPECT_GE(alignment(), 512U);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::unsupported);
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { say_of_file = nullptr; }

  // 1: without O_DIRECT.
  size_t alignment(DirectIo direct = DirectIo::on) const {
    return ShardFiles(dataset_, int64_t{1} << 60, direct).alignment();
  }

  ffkit::testing::Replaced<&ffkit::testing::Calls::statx> statx_{older_statx};
  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_records = 2, .num_shards = 1});
};

TEST_F(DirectAlignment, IsAPageWhereTheKernelDoesNotTell) {
  say_of_file = [](struct statx&) { return -1; };
  EXPECT_EQ(alignment(), 4096U);
  say_of_file = [](struct statx& info) {
    info = {};
    info.stx_dio_offset_align = 512;
    return 0;
  };
  EXPECT_EQ(alignment(), 4096U);
}

TEST_F(DirectAlignment, SuitsMemoryAndFile) {
  for (const auto& [of_memory, in_file] : {std::pair{4096, 8192}, std::pair{8192, 4096}}) {
    say_of_file = [memory = of_memory, file = in_file](struct statx& info) {
      info = {};
      info.stx_mask = STATX_DIOALIGN;
      info.stx_dio_mem_align = static_cast<uint32_t>(memory);
      info.stx_dio_offset_align = static_cast<uint32_t>(file);
      return 0;
    };
    EXPECT_EQ(alignment(), 8192U);
  }
  say_of_file = [](struct statx& info) {
    info = {};
    info.stx_mask = STATX_DIOALIGN;
    return 0;
  };
  EXPECT_EQ(alignment(DirectIo::automatic), 1U) << "0: the file cannot be read so";
}

#endif

}  // namespace
}  // namespace ffkit
