// A kernel that takes no reads for a while, being short of memory: the loader waits a little, and
// an epoch that fails is the only one.
#include <liburing.h>
#include <sched.h>
#include <time.h>

#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "faults/system_calls.h"
#include "io/kernel_read_engine.h"
#include "make_dataset.h"
#include "test_prelude.h"

namespace {

// Of the calls that come, these many succeed, and then these many fail with `error`.
std::atomic<int> num_good = 0;
std::atomic<int> num_refused = 0;
std::atomic<int> error = 0;
std::atomic<int64_t> waited_ms = 0;
// So many reads are taken at once; the others stay in the queue.
std::atomic<unsigned> num_takeable = ~0U;
// Waiting for completions fails with it, unless it is 0.
std::atomic<int> wait_error = 0;

int refused_submit(io_uring* ring, unsigned wanted) {
  if (num_good-- > 0 || num_refused <= 0) {
    const unsigned num_prepared = ring->sq.sqe_tail - ring->sq.sqe_head;
    const unsigned num_left = num_prepared - std::min<unsigned>(num_prepared, num_takeable);
    ring->sq.sqe_tail -= num_left;
    const int result = ffkit::testing::real_calls.io_uring_submit_and_wait(ring, wanted);
    ring->sq.sqe_tail += num_left;
    return result;
  }
  --num_refused;
  return -error;
}

int refused_wait(io_uring* ring, io_uring_cqe** cqe, unsigned submit, unsigned wanted,
                 sigset_t* mask) {
  if (wait_error == 0)
    return ffkit::testing::real_calls.io_uring_get_cqe(ring, cqe, submit, wanted, mask);
  return -wait_error;
}
// Waits cost nothing here. Completions come when a thread enters the kernel, as by a real wait.
int nanosleep_at_once(const timespec* wanted, timespec* /*left*/) {
  waited_ms += wanted->tv_sec * 1000 + wanted->tv_nsec / 1'000'000;
  sched_yield();
  return 0;
}

}  // namespace

namespace ffkit {
namespace {

constexpr int kRefusedForever = 1'000'000;

struct RefusingKernel {
  testing::Replaced<&testing::Calls::io_uring_submit_and_wait> submit{refused_submit};
  testing::Replaced<&testing::Calls::io_uring_get_cqe> wait{refused_wait};
  testing::Replaced<&testing::Calls::nanosleep> sleep{nanosleep_at_once};
};

class UringRefusals : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    try {
      Loader(dataset_, options());
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      GTEST_SKIP() << e.what();
    }
  }
  void TearDown() override { num_refused = 0; }

  static LoaderOptions options() {
    LoaderOptions out;
    out.batch_size = 5;
    out.num_threads = 2;
    out.image.transform = ResizeCenterCrop{.resize = 20, .size = 16};
    out.sampler = {.tail = Tail::exact, .seed = 1};
    out.io.engine = IoEngine::io_uring;
    out.io.direct = DirectIo::off;
    out.io.decoders_read_cache = false;
    return out;
  }

  const RefusingKernel kernel_;
  testing::TempDir dir_;
  Dataset dataset_ = testing::make_dataset(dir_ / "train");
};

class ShortUringRefusals : public UringRefusals {};

TEST_P(ShortUringRefusals, AreWaitedFor) {
  Loader whole(dataset_, options());
  const auto expected = testing::collect_epoch(whole, 0);
  for (const int good : {0, 1, 3}) {
    num_good = good;
    error = GetParam();
    num_refused = 5;
    Loader loader(dataset_, options());
    EXPECT_EQ(testing::collect_epoch(loader, 0), expected);
    EXPECT_TRUE(good > 0 || num_refused == 0);
  }
}

TEST_P(UringRefusals, EndOneEpochWhenTheyLast) {
  Loader whole(dataset_, options());
  const auto expected = testing::collect_epoch(whole, 2);
  for (const int good : {0, 1}) {
    Loader loader(dataset_, options());
    num_good = good;
    error = GetParam();
    num_refused = kRefusedForever;
    for (int epoch = 0; epoch < 2; ++epoch) {
      loader.set_epoch(epoch);
      EXPECT_ERROR(testing::collect_rest(loader), io);
    }
    num_refused = 0;
    EXPECT_EQ(testing::collect_epoch(loader, 2), expected);
  }
}

TEST_P(ShortUringRefusals, AreWaitedForASecondAtMost) {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  UringRefusal refusal;
  const auto engine = make_uring_read_engine({zeros}, {}, refusal);
  std::byte byte{};
  engine->submit({.num_bytes = 1, .buffer = &byte});
  num_good = 0;
  error = GetParam();
  num_refused = kRefusedForever;
  waited_ms = 0;
  EXPECT_EQ(engine->wait(1)[0].result, -GetParam());
  EXPECT_NEAR(static_cast<double>(waited_ms), 1000, 100);
  close(zeros);
}

TEST(PartlyTaken, ReadsAreWaitedForAsFarAsTheyAreTaken) {
  const RefusingKernel kernel;
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  UringRefusal refusal;
  const auto engine = make_uring_read_engine({zeros}, {}, refusal);
  if (engine == nullptr) GTEST_SKIP() << strerrordesc_np(refusal.error);
  std::byte bytes[10] = {};
  num_takeable = 1;
  for (std::byte& byte : bytes) engine->submit({.num_bytes = 1, .buffer = &byte});
  int num_read = 0;
  while (engine->num_in_flight() > 0) {
    for (const ReadCompletion& read : engine->wait(10)) num_read += read.result == 1 ? 1 : 0;
  }
  num_takeable = ~0U;
  EXPECT_EQ(num_read, 10);
  close(zeros);
}

// Of an engine whose four reads are in the kernel.
class RefusedWait : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe2(pipe_ends_, O_CLOEXEC), 0);
    UringRefusal refusal;
    engine_ = make_uring_read_engine({pipe_ends_[0]}, {}, refusal);
    if (engine_ == nullptr) GTEST_SKIP() << strerrordesc_np(refusal.error);
    for (std::byte& byte : bytes_) engine_->submit({.num_bytes = 1, .buffer = &byte});
    num_good = 0;
    num_refused = kRefusedForever;
    waited_ms = 0;
  }
  void TearDown() override {
    num_refused = wait_error = 0;
    write_all();  // the destructor waits for reads in flight
    engine_.reset();
    for (const int end : pipe_ends_) close(end);
  }
  void refuse(int by_submitting, int by_waiting) {
    error = by_submitting;
    wait_error = by_waiting;
  }
  void write_all() { EXPECT_EQ(write(pipe_ends_[1], "abcd", 4), 4); }

  const RefusingKernel kernel_;
  int pipe_ends_[2] = {-1, -1};
  std::byte bytes_[4] = {};
  std::unique_ptr<KernelReadEngine> engine_;
};

TEST_F(RefusedWait, LooksForCompletionsFromTimeToTime) {
  refuse(EPERM, EPERM);
  std::thread writer([&] {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(200);
    while (waited_ms < 3 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_GE(waited_ms, 3);
    write_all();
  });
  int num_read = 0;
  while (engine_->num_in_flight() > 0) {
    for (const ReadCompletion& read : engine_->wait(1)) num_read += read.result == 1 ? 1 : 0;
  }
  writer.join();
  EXPECT_EQ(num_read, 4);
}

TEST_F(RefusedWait, IsRepeatedWhereItWasInterrupted) {
  for (const int passing : {EINTR, EAGAIN, EBUSY}) {
    refuse(EAGAIN, passing);
    std::thread kernel([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      wait_error = 0;
      EXPECT_EQ(write(pipe_ends_[1], "x", 1), 1);
    });
    const auto found = engine_->wait(1);
    kernel.join();
    EXPECT_EQ(found[0].result, 1) << passing;
  }
}

// The kernel may still write to the buffers.
TEST_F(RefusedWait, EndsTheEngineOnOtherErrors) {
  refuse(EAGAIN, EBADF);
  EXPECT_ERROR(engine_->wait(1), io, .errno_value = EBADF);
  num_refused = wait_error = 0;
  write_all();
  EXPECT_ERROR(engine_->wait(1), io, .errno_value = EBADF);
  EXPECT_ERROR(engine_->submit({}), io, .errno_value = EBADF);
}

INSTANTIATE_TEST_SUITE_P(Errnos, ShortUringRefusals, ::testing::Values(EAGAIN, EBUSY, ENOMEM));
INSTANTIATE_TEST_SUITE_P(Errnos, UringRefusals, ::testing::Values(EAGAIN, EBUSY, ENOMEM, EINVAL));

}  // namespace
}  // namespace ffkit
