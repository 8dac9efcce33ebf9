// A file system that hangs, as a network file system without its server does: next(), set_epoch()
// and the destructor of a loader all return within the time that they promise, and the loader goes
// on once the file system answers.
#include <liburing.h>
#include <sys/uio.h>

#include <condition_variable>

#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "faults/system_calls.h"
#include "make_dataset.h"
#include "test_prelude.h"

namespace {

std::mutex hang_mutex;
std::condition_variable changed;
bool is_hanging = false;
int num_stuck = 0;

void hang_or_not(bool hang) {
  std::lock_guard lock(hang_mutex);
  is_hanging = hang;
  changed.notify_all();
}

void wait_until_stuck(int count) {
  std::unique_lock lock(hang_mutex);
  changed.wait(lock, [&] { return num_stuck >= count; });
}

void wait_while_hanging() {
  std::unique_lock lock(hang_mutex);
  ++num_stuck;
  changed.notify_all();
  changed.wait(lock, [] { return !is_hanging; });
  --num_stuck;
}

ssize_t hanging_pread(int fd, void* data, size_t num_bytes, off_t offset) {
  wait_while_hanging();
  return ffkit::testing::real_calls.pread(fd, data, num_bytes, offset);
}
// Asks what the page cache holds: of all its bytes nothing, of a single one the truth.
ssize_t preadv2_of_empty_cache(int fd, const iovec* data, int count, off_t offset, int flags) {
  if (data->iov_len > 1) {
    errno = EAGAIN;
    return -1;
  }
  return ffkit::testing::real_calls.preadv2(fd, data, count, offset, flags);
}
int hanging_submit_and_wait(io_uring* ring, unsigned wanted) {
  wait_while_hanging();
  return ffkit::testing::real_calls.io_uring_submit_and_wait(ring, wanted);
}

}  // namespace

// Threads of loaders that were given up are there to the end.
// NOLINTNEXTLINE(bugprone-reserved-identifier): ThreadSanitizer's
extern "C" const char* __tsan_default_options() {
  return "report_thread_leaks=0";
}

namespace ffkit {
namespace {

struct Kind {
  IoEngine engine;
  bool decoders_read_cache;
  bool has_index;  // in memory
  const char* name;
};

class HangingReads : public ::testing::TestWithParam<Kind> {
 protected:
  HangingReads() {
    for (int64_t i = 0; i < dataset_.num_records() && GetParam().has_index; ++i)
      static_cast<void>(dataset_.locate(i));
  }
  void TearDown() override { hang_or_not(false); }

  static LoaderOptions options() {
    LoaderOptions out;
    out.batch_size = 5;
    out.num_threads = 2;
    out.memory.prefetch_batches = 1;
    out.image.transform = ResizeCenterCrop{.resize = 20, .size = 16};
    out.sampler = {.order = Order::sequential, .tail = Tail::exact};
    out.io.engine = GetParam().engine;
    out.io.direct = DirectIo::off;
    out.io.decoders_read_cache = GetParam().decoders_read_cache;
    out.io.read_timeout_s = 0.1;
    return out;
  }

  // What `call` gives once the file system answers again: on a busy machine that may take its time.
  template <typename Call>
  static auto patiently(const Call& call) {
    for (int i = 0; i < 100; ++i) {
      try {
        return call();
      } catch (const Error&) {
      }
    }
    return call();
  }

  static void expect_hanging(const std::function<void()>& call) {
    try {
      call();
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      EXPECT_NE(std::string(error.what()).find("io.read_timeout_s"), std::string::npos)
          << error.what();
    }
  }

  ffkit::testing::Replaced<&ffkit::testing::Calls::pread> pread_{hanging_pread};
  ffkit::testing::Replaced<&ffkit::testing::Calls::preadv2> preadv2_{preadv2_of_empty_cache};
  ffkit::testing::Replaced<&ffkit::testing::Calls::io_uring_submit_and_wait>
      io_uring_submit_and_wait_{hanging_submit_and_wait};
  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train", {.num_shards = 1});
};

TEST_P(HangingReads, AreAnErrorUntilTheFileSystemAnswers) {
  Loader reference(Dataset::open(dir_ / "train"), options());
  const auto expected = patiently([&] { return testing::collect_epoch(reference, 0); });
  Loader loader(dataset_, options());
  hang_or_not(true);
  expect_hanging([&] { loader.next(); });
  expect_hanging([&] { loader.next(); });
  // The epoch goes on where it was ...
  hang_or_not(false);
  const Batch first = *patiently([&] { return loader.next(); });
  EXPECT_EQ(testing::collect(first), expected.front());
  // ... and another is begun only when the reads of the one before are over.
  patiently([&] { loader.set_epoch(0); });
  hang_or_not(true);
  expect_hanging([&] {
    while (loader.next()) continue;
  });
  expect_hanging([&] { loader.set_epoch(3); });
  expect_hanging([&] { loader.next(); });
  hang_or_not(false);
  patiently([&] { loader.set_epoch(0); });
  std::vector<testing::CollectedBatch> found;
  while (auto batch = patiently([&] { return loader.next(); })) {
    found.push_back(testing::collect(*batch));
  }
  EXPECT_EQ(found, expected);
}

TEST_P(HangingReads, DoNotHoldBackTheDestructor) {
  auto loader = std::make_unique<Loader>(dataset_, options());
  hang_or_not(true);
  expect_hanging([&] { loader->next(); });
  wait_until_stuck(1);
  *loader = Loader(dataset_, options());
  expect_hanging([&] { loader->next(); });
  wait_until_stuck(2);
  loader.reset();
  wait_until_stuck(2);  // reads that never came back
}

INSTANTIATE_TEST_SUITE_P(Engines, HangingReads,
                         ::testing::Values(Kind{IoEngine::pread, false, true, "pread"},
                                           Kind{IoEngine::automatic, false, true, "io_uring"},
                                           Kind{IoEngine::automatic, true, true, "decoders"},
                                           Kind{IoEngine::pread, false, false, "index"}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace ffkit
