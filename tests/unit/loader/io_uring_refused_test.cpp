// What happens where the kernel refuses io_uring, or the call by which reads reach it alone, as in
// many containers: shown with a real seccomp filter in a child process.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "io/kernel_read_engine.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

using testing::expect;

struct RefusedCall {
  const char* name;
  uint32_t number;
  int error;
};

// From now on `call` fails in all threads of this process.
void refuse(const RefusedCall& call) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(call.error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {.len = std::size(filter), .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    perror("seccomp");
    _exit(77);
  }
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class IoUringRefused : public ::testing::TestWithParam<RefusedCall> {
 protected:
  // The child starts afresh, so that it has no threads of other tests.
  IoUringRefused() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void SetUp() override {
    UringRefusal refusal;
    const bool has_ring = make_uring_read_engine({0}, {}, refusal) != nullptr;
    if (!has_ring && refusal.error == 0) GTEST_SKIP() << "there is no liburing";
  }
};

TEST_P(IoUringRefused, AutomaticFallsBackToPreadAndSaysSoOnce) {
  const auto child = [] {
    refuse(GetParam());
    std::ostringstream log;
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_st>(log)));
    for (const bool sqpoll : {false, true, false}) {
      const auto engine = make_read_engine(IoEngine::automatic, {0}, {.sqpoll = sqpoll});
      expect(std::string(engine->name()) == "pread", "the engine is pread");
    }
    expect(count(log.str(), "io_uring is not available") == 1, "said once");
    expect(count(log.str(), GetParam().name) == 1, "with the call: " + log.str());
    expect(count(log.str(), strerrordesc_np(GetParam().error)) == 1, "with the reason");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_P(IoUringRefused, AskingForItIsAnError) {
  const auto child = [] {
    refuse(GetParam());
    for (const bool sqpoll : {false, true}) {
      try {
        make_read_engine(IoEngine::io_uring, {0}, {.sqpoll = sqpoll});
        expect(false, "an error is thrown");
      } catch (const Error& error) {
        expect(error.code() == ErrorCode::unsupported, "the code is unsupported");
        expect(error.context().errno_value == GetParam().error, "the errno is the kernel's");
        expect(count(error.what(), "io_uring was asked for") == 1, error.what());
        expect(count(error.what(), GetParam().name) == 1, error.what());
      }
    }
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_P(IoUringRefused, LoaderStillReadsEverything) {
  const auto child = [] {
    const testing::TempDir dir;
    const Dataset dataset = testing::make_dataset(dir / "train", {.num_records = 12});
    refuse(GetParam());
    LoaderOptions options;
    options.batch_size = 4;
    options.num_threads = 1;
    options.io.decoders_read_cache = false;
    options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
    auto loader = std::make_unique<Loader>(dataset, options);
    int64_t num_samples = 0;
    while (const auto batch = loader->next()) num_samples += batch->size();
    expect(num_samples == 12, "all samples");
    expect(loader->statistics().io_engine == "pread", "the engine is pread");
    loader.reset();
    std::filesystem::remove_all(dir.path());
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(
    Calls, IoUringRefused,
    ::testing::Values(RefusedCall{"io_uring_setup", __NR_io_uring_setup, EPERM},
                      RefusedCall{"io_uring_setup", __NR_io_uring_setup, ENOSYS},
                      RefusedCall{"io_uring_enter", __NR_io_uring_enter, EPERM},
                      RefusedCall{"io_uring_enter", __NR_io_uring_enter, ENOSYS}),
    [](const auto& made) {
      return std::string(made.param.name) + (made.param.error == EPERM ? "_EPERM" : "_ENOSYS");
    });

// A program that locks itself in when its loader is there.
TEST(IoUringRefusedLater, ReadsFailAndSayWhatIsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto child = [] {
    UringRefusal refusal;
    const auto engine = make_uring_read_engine({0}, {}, refusal);
    if (engine == nullptr) _exit(0);
    refuse({"io_uring_enter", __NR_io_uring_enter, EPERM});
    char byte = 0;
    const ReadRequest request{.num_bytes = 1, .buffer = reinterpret_cast<std::byte*>(&byte)};
    engine->submit(request);
    expect(engine->wait(1)[0].result == -EPERM, "the read fails");
    for (int i = 0; i < 2; ++i) {
      try {
        engine->submit(request);
        expect(false, "there is no new ring");
      } catch (const Error& error) {
        expect(error.code() == ErrorCode::io && error.context().errno_value == EPERM, error.what());
        expect(count(error.what(), "io_uring_enter") == 1, error.what());
      }
      expect(engine->num_in_flight() == 0, "nothing is in flight");
    }
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

// Reads of /dev/zero are done at once, those of an empty pipe are in the kernel until it gets
// bytes.
class IoUringRefusedMeanwhile : public ::testing::TestWithParam<int> {
 protected:
  IoUringRefusedMeanwhile() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static RefusedCall call() { return {"io_uring_enter", __NR_io_uring_enter, GetParam()}; }
};

TEST_P(IoUringRefusedMeanwhile, AutomaticGoesOnWithPread) {
  const auto child = [] {
    int pipe_ends[2];
    expect(pipe2(pipe_ends, O_CLOEXEC) == 0, "pipe2");
    const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    std::string log;
    const ReadEngineOptions options{.on_warning = [&](std::string_view line) { log += line; }};
    const auto engine = make_read_engine(IoEngine::automatic, {zeros, pipe_ends[0]}, options);
    if (std::string(engine->name()) == "pread") _exit(0);
    std::vector<std::byte> memory(6 * 16);
    const auto submit = [&](int file, uint64_t tag) {
      const size_t num_bytes = file == 0 ? 16 : 1;
      engine->submit(
          {.file = file, .num_bytes = num_bytes, .buffer = &memory[tag * 16], .tag = tag});
    };
    std::map<uint64_t, int64_t> results;
    const auto wait = [&] {
      for (const ReadCompletion& done : engine->wait(1)) results[done.tag] = done.result;
    };
    submit(1, 0);
    submit(0, 1);
    while (results.empty()) wait();
    expect(engine->num_in_flight() == 1, "the read of the pipe is in the kernel");
    refuse(call());
    for (uint64_t tag = 2; tag < 5; ++tag) submit(0, tag);
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      expect(write(pipe_ends[1], "x", 1) == 1, "write");
    });
    while (engine->num_in_flight() > 0) wait();
    writer.join();
    expect(memory[0] == std::byte{'x'}, "the kernel's read is waited for");
    submit(0, 5);
    while (engine->num_in_flight() > 0) wait();
    const std::map<uint64_t, int64_t> all{{0, 1}, {1, 16}, {2, 16}, {3, 16}, {4, 16}, {5, 16}};
    expect(results == all, "all bytes are read, each once");
    expect(engine->description() == "pread", engine->description());
    expect(count(log, "io_uring_enter") == 1 && count(log, "pread") == 1, "said once: " + log);
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_P(IoUringRefusedMeanwhile, TheDestructorWaitsForTheKernel) {
  const auto child = [] {
    int pipe_ends[2];
    expect(pipe2(pipe_ends, O_CLOEXEC) == 0, "pipe2");
    auto engine = make_read_engine(IoEngine::automatic, {pipe_ends[0]}, {});
    if (std::string(engine->name()) == "pread") _exit(0);
    std::byte byte{};
    for (int i = 0; i < 4; ++i) {  // as many go to the kernel at once
      engine->submit({.num_bytes = 1, .buffer = &byte, .tag = static_cast<uint64_t>(i)});
    }
    refuse(call());
    std::atomic<bool> is_written = false;
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      is_written = true;
      expect(write(pipe_ends[1], "xxxx", 4) == 4, "write");
    });
    engine.reset();
    expect(is_written, "the kernel does not write to memory that has gone");
    writer.join();
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_P(IoUringRefusedMeanwhile, LoaderGoesOn) {
  const auto child = [] {
    const testing::TempDir dir;
    const Dataset dataset = testing::make_dataset(dir / "train", {.num_records = 40});
    LoaderOptions options;
    options.batch_size = 4;
    options.num_threads = 1;
    options.memory.prefetch_batches = 1;
    options.io.decoders_read_cache = false;
    options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
    auto loader = std::make_unique<Loader>(dataset, options);
    int64_t num_samples = loader->next()->size();
    refuse(call());
    for (int epoch = 0; epoch < 2; ++epoch) {
      if (epoch > 0) loader->set_epoch(epoch);
      while (const auto batch = loader->next()) num_samples += batch->size();
    }
    expect(num_samples == 80, "all samples");
    expect(loader->statistics().io_engine == "pread", "the engine is pread");
    loader.reset();
    std::filesystem::remove_all(dir.path());
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Errnos, IoUringRefusedMeanwhile, ::testing::Values(EPERM, ENOSYS));

}  // namespace
}  // namespace ffkit
