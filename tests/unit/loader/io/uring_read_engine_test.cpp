// What the kernel grants io_uring, and what happens where it does not: shown in child processes
// with lower limits.
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "io/kernel_read_engine.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::expect;

constexpr size_t kBytes = 1 << 20;

// Without CAP_IPC_LOCK, RLIMIT_MEMLOCK counts.
void set_memlock_limit(rlim_t num_bytes) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2];
  expect(syscall(SYS_capget, &header, data) == 0, "capget");
  data[0].effective &= ~(1U << CAP_IPC_LOCK);
  expect(syscall(SYS_capset, &header, data) == 0, "capset");
  rlimit limit{};
  expect(getrlimit(RLIMIT_MEMLOCK, &limit) == 0, "getrlimit");
  limit.rlim_cur = std::min(num_bytes, limit.rlim_max);
  expect(setrlimit(RLIMIT_MEMLOCK, &limit) == 0, "setrlimit");
}

void refuse_io_uring_register(int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_register, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {.len = std::size(filter), .filter = filter};
  expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
             prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
         "seccomp");
}

class UringReadEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    UringRefusal refusal;
    if (make_uring_read_engine({fd_}, {}, refusal) == nullptr) {
      GTEST_SKIP() << "io_uring is refused here: " << strerrordesc_np(refusal.error);
    }
  }
  void TearDown() override { close(fd_); }

  std::unique_ptr<KernelReadEngine> make_engine(IoEngine engine = IoEngine::io_uring,
                                                bool sqpoll = false) {
    return make_read_engine(engine, {fd_}, {.buffer_memory = memory_, .sqpoll = sqpoll});
  }

  // In a child: makes an engine, expects what it says of itself, and that it reads to the memory.
  void expect_works(const std::string& description, IoEngine kind = IoEngine::io_uring,
                    bool sqpoll = false) {
    const auto engine = make_engine(kind, sqpoll);
    expect(engine->description().find("buffers") == std::string::npos, "not before it is used");
    for (size_t num_bytes = 0; num_bytes <= memory_.size(); num_bytes += kBytes) {
      engine->submit({.num_bytes = kBytes, .buffer = memory_.data()});
      engine->wait(1);
    }
    expect(engine->description() == description, engine->description());
    for (int round = 0; round < 3; ++round) {
      std::memset(memory_.data(), 1, kBytes);
      for (size_t i = 0; i < 4; ++i) {
        engine->submit({.num_bytes = 1000, .buffer = memory_.data() + i * 4096, .tag = i});
      }
      while (engine->num_in_flight() > 0) {
        for (const ReadCompletion& completion : engine->wait(1)) {
          expect(completion.result == 1000, "the read gives all bytes");
        }
      }
      for (size_t i = 0; i < 4; ++i) {
        expect(memory_[i * 4096] == std::byte{0} && memory_[i * 4096 + 999] == std::byte{0} &&
                   memory_[i * 4096 + 1000] == std::byte{1},
               "the bytes are there");
      }
    }
    expect(engine->description() == description, "later " + engine->description());
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(kBytes);
  int fd_ = open("/dev/zero", O_RDONLY | O_CLOEXEC);
};

TEST_F(UringReadEngineTest, SaysWhatTheKernelGranted) {
  const auto child = [&] {
    expect_works("io_uring (fixed files, fixed buffers)");
    const auto none = make_read_engine(IoEngine::io_uring, {fd_}, {});
    expect(none->description() == "io_uring (fixed files)", none->description());
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(make_engine(IoEngine::pread)->description(), "pread");
}

TEST_F(UringReadEngineTest, MemoryWithinTheLockLimitIsRegistered) {
  const auto child = [&] {
    set_memlock_limit(8 << 20);
    expect_works("io_uring (fixed files, fixed buffers)");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_F(UringReadEngineTest, MemoryBeyondTheLockLimitIsReadToAllTheSame) {
  const auto child = [&] {
    memory_.resize(16 << 20);
    set_memlock_limit(8 << 20);  // room for rings, also those of processes that have just ended
    expect_works("io_uring (fixed files)");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_F(UringReadEngineTest, WorksWhereNothingCanBeRegistered) {
  const auto child = [&](int error) {
    refuse_io_uring_register(error);
    expect_works("io_uring");
    expect_works("io_uring", IoEngine::automatic);
    expect_works("io_uring (sqpoll)", IoEngine::io_uring, true);
    _exit(0);
  };
  EXPECT_EXIT(child(EPERM), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(child(ENOSYS), ::testing::ExitedWithCode(0), "");
}

TEST_F(UringReadEngineTest, SqpollWorksWhereTheKernelAllowsIt) {
  const auto child = [&] {
    expect_works("io_uring (fixed files, fixed buffers, sqpoll)", IoEngine::io_uring, true);
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

// A user who may not have another thread: the kernel cannot start the one that submits.
TEST_F(UringReadEngineTest, SqpollRefusedIsAnErrorOrALineInTheLog) {
  const auto child = [&] {
    testing::allow_no_more_threads();
    try {
      make_engine(IoEngine::io_uring, true);
      expect(false, "an error is thrown");
    } catch (const Error& error) {
      expect(error.code() == ErrorCode::unsupported, "the code is unsupported");
      expect(std::string(error.what()).find("io.sqpoll was asked for") != std::string::npos,
             error.what());
    }
    std::ostringstream log;
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
    expect_works("io_uring (fixed files, fixed buffers)", IoEngine::automatic, true);
    make_engine(IoEngine::automatic, true);
    const std::string said = log.str();
    const size_t first = said.find("io.sqpoll is not available here");
    expect(first != std::string::npos && said.find("io.sqpoll", first + 1) == std::string::npos,
           "said once: " + said);
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

// The kernel writes to the buffers of reads in flight, whatever interrupts the wait for it.
TEST_F(UringReadEngineTest, DestructionWaitsThroughSignals) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  auto engine = make_read_engine(IoEngine::io_uring, {pipe_ends[0]}, {});
  std::byte bytes[4] = {};
  for (std::byte& byte : bytes) engine->submit({.num_bytes = 1, .buffer = &byte});
  struct sigaction action {};
  action.sa_handler = [](int) {};  // without SA_RESTART
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> is_written = false;
  std::thread writer([&, reader = pthread_self()] {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      pthread_kill(reader, SIGUSR1);
    }
    is_written = true;
    EXPECT_EQ(write(pipe_ends[1], "xxxx", 4), 4);
  });
  engine.reset();
  EXPECT_TRUE(is_written);
  writer.join();
  EXPECT_EQ(bytes[3], std::byte{'x'});
  sigaction(SIGUSR1, &before, nullptr);
  for (const int end : pipe_ends) close(end);
}

TEST(ReadEngine, SqpollWithPreadIsRefused) {
  EXPECT_ERROR(make_read_engine(IoEngine::pread, {0}, {.sqpoll = true}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
