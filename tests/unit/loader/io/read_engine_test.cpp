// The contract of ReadEngine: one suite over both engines, through the page cache and with
// O_DIRECT, io_uring also with registered memory and with a submission thread.
#include <sys/time.h>
#include <sys/uio.h>

#include "io/kernel_read_engine.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

constexpr size_t kBlock = 4096;
constexpr size_t kFileBytes = 300 * kBlock + 1234;

std::byte content_at(size_t offset) {
  return static_cast<std::byte>((offset * 2654435761U) >> 13);
}

struct EngineKind {
  IoEngine engine;
  bool direct;
  bool fixed_buffers = false;
  bool sqpoll = false;
};

std::string name_of_engine(const ::testing::TestParamInfo<EngineKind>& info) {
  return fmt::format("{}_{}{}{}", info.param.engine == IoEngine::pread ? "pread" : "io_uring",
                     info.param.direct ? "direct" : "buffered",
                     info.param.fixed_buffers ? "_fixed" : "", info.param.sqpoll ? "_sqpoll" : "");
}

struct AlignedDelete {
  bool is_owned = true;
  void operator()(std::byte* p) const {
    if (is_owned) ::operator delete (p, std::align_val_t{kBlock});
  }
};
using AlignedBuffer = std::unique_ptr<std::byte, AlignedDelete>;

class ReadEngineTest : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    std::vector<char> content(kFileBytes);
    for (size_t i = 0; i < kFileBytes; ++i) content[i] = static_cast<char>(content_at(i));
    std::ofstream(path_, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(kFileBytes));
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | (GetParam().direct ? O_DIRECT : 0));
    if (fd_ < 0) GTEST_SKIP() << "the file system of " << path_ << " does not take O_DIRECT";
    UringRefusal refusal;
    if (GetParam().engine == IoEngine::io_uring &&
        make_uring_read_engine({fd_}, {.sqpoll = GetParam().sqpoll}, refusal) == nullptr) {
      GTEST_SKIP() << "io_uring is refused here: " << strerrordesc_np(refusal.error);
    }
  }
  void TearDown() override {
    if (fd_ >= 0) close(fd_);
  }

  std::unique_ptr<KernelReadEngine> make_engine(int queue_depth = 8, std::vector<int> files = {}) {
    if (files.empty()) files = {fd_};
    auto engine = make_read_engine(GetParam().engine, files,
                                   {.queue_depth = queue_depth,
                                    .num_retries = 2,
                                    .alignment = GetParam().direct ? kBlock : 1,
                                    .buffer_memory = {fixed_memory_.get(), kFixedBytes},
                                    .sqpoll = GetParam().sqpoll});
    if (GetParam().fixed_buffers) {
      // Memory is registered once it has been used.
      for (size_t num_bytes = 0; num_bytes < kFixedBytes; num_bytes += kFixedBytes / 4) {
        engine->submit({.num_bytes = kFixedBytes / 4, .buffer = fixed_memory_.get()});
        engine->wait(1);
      }
    }
    return engine;
  }

  // From the registered memory as long as there is some: reads to registered memory and to other
  // memory then meet.
  AlignedBuffer make_buffer(size_t num_bytes) {
    if (GetParam().fixed_buffers && num_bytes <= kFixedBytes - num_fixed_used_) {
      std::byte* data = fixed_memory_.get() + num_fixed_used_;
      num_fixed_used_ += num_bytes;
      return AlignedBuffer(data, {.is_owned = false});
    }
    return allocate(num_bytes);
  }

  // One read, waited for.
  int64_t read_once(KernelReadEngine& engine, const ReadRequest& request) {
    engine.submit(request);
    const auto completions = engine.wait(1);
    EXPECT_EQ(completions.size(), 1U);
    EXPECT_EQ(completions[0].tag, request.tag);
    EXPECT_EQ(engine.num_in_flight(), 0);
    return completions[0].result;
  }

  static void expect_content(const std::byte* data, size_t num_bytes, size_t offset) {
    for (size_t i = 0; i < num_bytes; ++i) {
      ASSERT_EQ(data[i], content_at(offset + i)) << "at " << offset + i;
    }
  }

  static AlignedBuffer allocate(size_t num_bytes) {
    return AlignedBuffer(
        static_cast<std::byte*>(::operator new (num_bytes, std::align_val_t{kBlock})));
  }

  testing::TempDir dir_;
  std::filesystem::path path_ = dir_ / "file";
  int fd_ = -1;
  static constexpr size_t kFixedBytes = 2 << 20;  // more than the file has
  AlignedBuffer fixed_memory_ = allocate(kFixedBytes);
  size_t num_fixed_used_ = 0;
};

TEST_P(ReadEngineTest, ReadsWhatTheFileHolds) {
  auto engine = make_engine();
  EXPECT_STREQ(engine->name(), GetParam().engine == IoEngine::pread ? "pread" : "io_uring");
  const AlignedBuffer buffer = make_buffer(3 * kBlock);
  EXPECT_EQ(
      read_once(*engine,
                {.offset = 5 * kBlock, .num_bytes = 3 * kBlock, .buffer = buffer.get(), .tag = 99}),
      static_cast<int64_t>(3 * kBlock));
  expect_content(buffer.get(), 3 * kBlock, 5 * kBlock);
}

TEST_P(ReadEngineTest, ReadsAnyOffsetThroughThePageCache) {
  if (GetParam().direct) GTEST_SKIP() << "O_DIRECT reads whole blocks only";
  auto engine = make_engine();
  const AlignedBuffer buffer = make_buffer(kBlock);
  EXPECT_EQ(read_once(*engine, {.offset = 12345, .num_bytes = 77, .buffer = buffer.get() + 3}), 77);
  expect_content(buffer.get() + 3, 77, 12345);
}

TEST_P(ReadEngineTest, EndOfFileGivesWhatIsThere) {
  auto engine = make_engine();
  const AlignedBuffer buffer = make_buffer(4 * kBlock);
  const int64_t offset = 299 * kBlock;
  EXPECT_EQ(read_once(*engine, {.offset = offset, .num_bytes = 4 * kBlock, .buffer = buffer.get()}),
            static_cast<int64_t>(kBlock + 1234));
  expect_content(buffer.get(), kBlock + 1234, 299 * kBlock);
}

TEST_P(ReadEngineTest, BehindTheEndOfTheFileIsNothing) {
  auto engine = make_engine();
  const AlignedBuffer buffer = make_buffer(kBlock);
  EXPECT_EQ(
      read_once(*engine, {.offset = 1000 * kBlock, .num_bytes = kBlock, .buffer = buffer.get()}),
      0);
}

TEST_P(ReadEngineTest, NegativeOffsetIsAnError) {
  auto engine = make_engine();
  const AlignedBuffer buffer = make_buffer(kBlock);
  EXPECT_EQ(read_once(*engine, {.offset = -static_cast<int64_t>(2 * kBlock),
                                .num_bytes = kBlock,
                                .buffer = buffer.get()}),
            -EINVAL);
}

TEST_P(ReadEngineTest, FileThatIsNotReadableIsAnError) {
  const int write_only = open((dir_ / "other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(write_only, 0);
  auto engine = make_engine(8, {fd_, write_only});
  const AlignedBuffer buffer = make_buffer(kBlock);
  EXPECT_EQ(read_once(*engine, {.file = 1, .num_bytes = kBlock, .buffer = buffer.get()}), -EBADF);
  // Others are not affected.
  EXPECT_EQ(read_once(*engine, {.num_bytes = kBlock, .buffer = buffer.get()}),
            static_cast<int64_t>(kBlock));
  close(write_only);
}

TEST_P(ReadEngineTest, ClosedFileIsAnError) {
  auto engine = make_engine(8, {fd_, -1});
  const AlignedBuffer buffer = make_buffer(kBlock);
  EXPECT_EQ(read_once(*engine, {.file = 1, .num_bytes = kBlock, .buffer = buffer.get()}), -EBADF);
}

TEST_P(ReadEngineTest, BadBufferIsAnError) {
  auto engine = make_engine();
  EXPECT_EQ(
      read_once(*engine, {.num_bytes = kBlock, .buffer = reinterpret_cast<std::byte*>(kBlock)}),
      -EFAULT);
}

TEST_P(ReadEngineTest, EioIsReportedAfterItsRetries) {
  // The memory of this process at address 0 is a file that cannot be read: EIO, by proc(5).
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(memory, 0);
  auto engine = make_engine(8, {memory});
  const AlignedBuffer buffer = make_buffer(kBlock);
  EXPECT_EQ(read_once(*engine, {.num_bytes = kBlock, .buffer = buffer.get()}), -EIO);
  close(memory);
}

TEST_P(ReadEngineTest, ServesManyMoreReadsThanItsQueueIsDeep) {
  for (int queue_depth : {1, 3, 8, 100}) {
    auto engine = make_engine(queue_depth);
    EXPECT_EQ(engine->queue_depth(), queue_depth);
    constexpr uint64_t kNumReads = 1000;
    std::vector<AlignedBuffer> buffers(kNumReads);
    std::map<uint64_t, int64_t> results;
    uint64_t num_submitted = 0;
    while (results.size() < kNumReads) {
      while (num_submitted < kNumReads && engine->num_in_flight() < engine->queue_depth()) {
        buffers[num_submitted] = make_buffer(kBlock);
        engine->submit({.offset = static_cast<int64_t>(num_submitted % 300 * kBlock),
                        .num_bytes = kBlock,
                        .buffer = buffers[num_submitted].get(),
                        .tag = num_submitted});
        ++num_submitted;
      }
      const int before = engine->num_in_flight();
      const auto completions = engine->wait(1);
      EXPECT_FALSE(completions.empty());
      EXPECT_EQ(engine->num_in_flight(), before - static_cast<int>(completions.size()));
      for (const ReadCompletion& c : completions)
        EXPECT_TRUE(results.emplace(c.tag, c.result).second);
    }
    for (uint64_t i = 0; i < kNumReads; ++i) {
      ASSERT_EQ(results.at(i), static_cast<int64_t>(kBlock));
      expect_content(buffers[i].get(), kBlock, i % 300 * kBlock);
    }
  }
}

TEST_P(ReadEngineTest, DestructionWaitsForReadsInFlight) {
  for (int round = 0; round < 20; ++round) {
    constexpr int kDepth = 64;
    std::vector<AlignedBuffer> buffers;
    auto engine = make_engine(kDepth);
    const auto submit = [&] {
      buffers.push_back(make_buffer(64 * kBlock));
      engine->submit({.offset = static_cast<int64_t>(buffers.size() % 200 * kBlock),
                      .num_bytes = 64 * kBlock,
                      .buffer = buffers.back().get()});
    };
    while (engine->num_in_flight() < kDepth) submit();
    engine->wait(1);
    while (engine->num_in_flight() < kDepth) submit();  // some of them not even started
    engine.reset();
    // A read that went on would write to freed memory: AddressSanitizer and the next test's
    // contents tell.
    for (AlignedBuffer& buffer : buffers) std::fill_n(buffer.get(), 64 * kBlock, std::byte{0xAA});
    for (AlignedBuffer& buffer : buffers) {
      ASSERT_TRUE(std::all_of(buffer.get(), buffer.get() + 64 * kBlock,
                              [](std::byte b) { return b == std::byte{0xAA}; }));
    }
  }
}

// Signals interrupt system calls; the handlers of timers and profilers may come thousands of times
// a second.
TEST_P(ReadEngineTest, SignalsDisturbNothing) {
  struct sigaction action {};
  static std::atomic<int> num_signals{0};
  action.sa_handler = [](int) { ++num_signals; };  // without SA_RESTART
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval timer{.it_interval = {.tv_usec = 100}, .it_value = {.tv_usec = 100}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &timer, nullptr), 0);
  auto engine = make_engine(8);
  std::vector<AlignedBuffer> buffers;
  for (int i = 0; i < 8; ++i) buffers.push_back(make_buffer(16 * kBlock));
  num_signals = 0;
  for (int round = 0; num_signals < 50 && round < 100'000; ++round) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      engine->submit({.offset = static_cast<int64_t>(i * 16 * kBlock),
                      .num_bytes = 16 * kBlock,
                      .buffer = buffers[i].get(),
                      .tag = i});
    }
    while (engine->num_in_flight() > 0) {
      for (const ReadCompletion& completion : engine->wait(1)) {
        ASSERT_EQ(completion.result, static_cast<int64_t>(16 * kBlock));
      }
    }
  }
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_GE(num_signals, 50);
  for (size_t i = 0; i < buffers.size(); ++i) {
    expect_content(buffers[i].get(), 16 * kBlock, i * 16 * kBlock);
  }
}

// What was read is what the file held at some time since, even while it is cut and written anew:
// never an error, never other bytes.
TEST_P(ReadEngineTest, FileThatIsCutAndWrittenMeanwhileGivesItsBytes) {
  auto engine = make_engine(8);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) {
      std::filesystem::resize_file(path_, 100 * kBlock);
      std::ofstream file(path_, std::ios::binary | std::ios::app);
      std::vector<char> rest(200 * kBlock);
      for (size_t i = 0; i < rest.size(); ++i) {
        rest[i] = static_cast<char>(content_at(100 * kBlock + i));
      }
      file.write(rest.data(), static_cast<std::streamsize>(rest.size()));
    }
  });
  const AlignedBuffer buffer = make_buffer(64 * kBlock);
  for (int i = 0; i < 200; ++i) {
    const size_t offset = static_cast<size_t>(90 + i % 100) * kBlock;
    const int64_t result = read_once(
        *engine,
        {.offset = static_cast<int64_t>(offset), .num_bytes = 64 * kBlock, .buffer = buffer.get()});
    EXPECT_GE(result, 0);
    // Bytes at the moving end may still be the zeros of a page that is being filled.
    for (size_t k = 0; k < static_cast<size_t>(std::max<int64_t>(result, 0)); ++k) {
      const std::byte got = buffer.get()[k];
      if (got != content_at(offset + k) && got != std::byte{0}) {
        ADD_FAILURE() << "other bytes at " << offset + k;
        break;
      }
    }
  }
  stop = true;
  writer.join();
}

TEST_P(ReadEngineTest, MayBeUsedByAnotherThreadAfterwards) {
  auto engine = make_engine();
  const AlignedBuffer buffer = make_buffer(kBlock);
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      EXPECT_EQ(read_once(*engine, {.num_bytes = kBlock, .buffer = buffer.get()}),
                static_cast<int64_t>(kBlock));
    }).join();
  }
}

TEST_P(ReadEngineTest, HasNoMoreThreadsThanReadsAtATime) {
  if (GetParam().engine != IoEngine::pread) GTEST_SKIP() << "io_uring has none";
  auto engine = make_engine(8);
  const AlignedBuffer buffer = make_buffer(kBlock);
  std::thread([] {}).join();  // with the first thread comes that of ThreadSanitizer
  // What is in the page cache needs none, where the file system can say so.
  const iovec block{.iov_base = buffer.get(), .iov_len = kBlock};
  const bool is_cached = preadv2(fd_, &block, 1, 0, RWF_NOWAIT) > 0 && !GetParam().direct;
  const int64_t before = testing::count_entries("/proc/self/task");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(read_once(*engine, {.num_bytes = kBlock, .buffer = buffer.get()}),
              static_cast<int64_t>(kBlock));
  }
  EXPECT_LE(testing::count_entries("/proc/self/task"), before + (is_cached ? 0 : 1));
}

INSTANTIATE_TEST_SUITE_P(Engines, ReadEngineTest,
                         ::testing::Values(EngineKind{IoEngine::io_uring, false},
                                           EngineKind{IoEngine::io_uring, true},
                                           EngineKind{IoEngine::io_uring, false, true},
                                           EngineKind{IoEngine::io_uring, true, true},
                                           EngineKind{IoEngine::io_uring, false, false, true},
                                           EngineKind{IoEngine::io_uring, true, true, true},
                                           EngineKind{IoEngine::pread, false},
                                           EngineKind{IoEngine::pread, true}),
                         name_of_engine);

}  // namespace
}  // namespace ffkit
