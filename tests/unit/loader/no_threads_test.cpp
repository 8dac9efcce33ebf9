// A user who may not have another thread, as under a full process table or a container's pids
// limit: shown in child processes.
#include "io/kernel_read_engine.h"
#include "loader_prelude.h"

namespace ffkit {
namespace {

using testing::allow_no_more_threads;
using testing::expect;

LoaderOptions options_with(IoEngine engine) {
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
  options.io.engine = engine;
  options.io.decoders_read_cache = false;
  return options;
}

template <typename Call>
void expect_refused_with(const Call& call, const char* what) {
  try {
    call();
    expect(false, "an error is thrown");
  } catch (const Error& error) {
    const std::string message = error.what();
    expect(error.code() == ErrorCode::io && message.find(what) != std::string::npos &&
               message.find("ulimit -u") != std::string::npos,
           message);
  }
}

class NoThreads : public ::testing::Test {
 protected:
  // For the child, who is another user.
  NoThreads() {
    namespace fs = std::filesystem;
    fs::permissions(dir_.path(),
                    fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  }
  testing::TempDir dir_;
};

TEST_F(NoThreads, PreadReadsOnTheCallersThread) {
  const auto child = [this] {
    const int fd = open((dir_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::string content(3 * 4096, 'x');
    expect(::write(fd, content.data(), content.size()) == std::ssize(content), "write");
    // With an alignment, as for O_DIRECT, nothing is looked for in the page cache first.
    const auto engine = make_pread_read_engine({fd}, {.queue_depth = 8, .alignment = 4096});
    allow_no_more_threads();
    std::vector<std::array<std::byte, 4096>> buffers(5);
    for (size_t i = 0; i < buffers.size(); ++i) {
      engine->submit({.offset = static_cast<int64_t>(i * 4096),
                      .num_bytes = 4096,
                      .buffer = buffers[i].data(),
                      .tag = i});
    }
    int num_done = 0;
    while (engine->num_in_flight() > 0) {
      for (const ReadCompletion& done : engine->wait(1)) {
        expect(done.result == (done.tag < 3 ? 4096 : 0), "what there is is read");
        ++num_done;
      }
    }
    expect(num_done == 5, "each once");
    expect(std::memcmp(buffers[2].data(), content.data(), 4096) == 0, "the bytes are there");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_F(NoThreads, LoaderThatCannotDecodeIsAnError) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  const auto child = [&dataset] {
    allow_no_more_threads();
    expect_refused_with([&] { Loader(dataset, options_with(IoEngine::pread)); },
                        "decoding thread 1 of 2 cannot be started");
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_F(NoThreads, EpochThatCannotBeReadIsAnError) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  for (const IoEngine engine : {IoEngine::pread, IoEngine::automatic}) {
    const auto child = [&] {
      std::optional<Loader> loader(std::in_place, dataset, options_with(engine));
      allow_no_more_threads();
      expect_refused_with([&] { loader->next(); }, "the loader's I/O thread cannot be started");
      expect_refused_with([&] { loader->set_epoch(1); },
                          "the loader's I/O thread cannot be started");
      loader.reset();
      _exit(0);
    };
    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
  }
}

// The I/O thread is there, its reading threads cannot be had.
TEST_F(NoThreads, EpochInProgressIsReadToItsEnd) {
  const Dataset dataset = testing::make_dataset(dir_ / "train");
  for (const IoEngine engine : {IoEngine::pread, IoEngine::automatic}) {
    const auto child = [&] {
      LoaderOptions options = options_with(engine);
      options.memory.prefetch_batches = 1;
      std::optional<Loader> loader(std::in_place, dataset, options);
      expect(loader->next().has_value(), "the first batch");
      allow_no_more_threads();
      int64_t num_batches = 1;
      while (loader->next()) ++num_batches;
      expect(num_batches == 10, "all batches");
      loader.reset();
      _exit(0);
    };
    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace ffkit
