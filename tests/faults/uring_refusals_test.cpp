// A kernel that takes no reads for a while, being short of memory: the loader waits a little, and
// an epoch that fails is the only one.
#include <errno.h>
#include <gtest/gtest.h>
#include <liburing.h>
#include <time.h>

#include <atomic>
#include <string>

#include <ffkit/format/error.h>
#include <ffkit/loader/loader.h>

#include "collect_epoch.h"
#include "expect_error.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace {

// Of the calls that come, these many succeed, and then these many fail with `error`.
std::atomic<int> num_good = 0;
std::atomic<int> num_refused = 0;
std::atomic<int> error = 0;

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names for wrapped functions
extern "C" {
int __real_io_uring_submit_and_wait(io_uring* ring, unsigned wanted);

int __wrap_io_uring_submit_and_wait(io_uring* ring, unsigned wanted) {
  if (num_good-- > 0 || num_refused <= 0) return __real_io_uring_submit_and_wait(ring, wanted);
  --num_refused;
  return -error;
}
// Waits cost nothing here.
int __wrap_nanosleep(const timespec* /*wanted*/, timespec* /*left*/) {
  return 0;
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace ffkit {
namespace {

constexpr int kForever = 1'000'000;

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
    num_refused = kForever;
    for (int epoch = 0; epoch < 2; ++epoch) {
      loader.start_epoch(epoch);
      EXPECT_ERROR(testing::collect_rest(loader), io);
    }
    num_refused = 0;
    EXPECT_EQ(testing::collect_epoch(loader, 2), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Errnos, ShortUringRefusals, ::testing::Values(EAGAIN, EBUSY, ENOMEM));
INSTANTIATE_TEST_SUITE_P(Errnos, UringRefusals, ::testing::Values(EAGAIN, EBUSY, ENOMEM, EINVAL));

}  // namespace
}  // namespace ffkit
