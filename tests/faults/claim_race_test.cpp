// Two conversions into one folder, one of which ends in the moment that the other looks at the
// marker.
#include <system_error>

#include <ffkit/format/dataset.h>

#include "converter/output/destination.h"
#include "faults/system_calls.h"
#include "tar_builder.h"
#include "test_prelude.h"

namespace {

// Called before the marker is opened the next time but `num_opens`.
std::function<void()> before_open;
int num_opens = 0;

void call_before_open(const char* path) {
  if (!before_open || !std::string(path).ends_with(ffkit::kUnfinishedMarker)) return;
  if (num_opens-- == 0) std::exchange(before_open, nullptr)();
}

// Called before a marker is locked the next time.
std::function<void()> before_lock;

void call_before_lock(int fd) {
  std::error_code unknown;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), unknown);
  if (before_lock && path.filename() == ffkit::kUnfinishedMarker) {
    std::exchange(before_lock, nullptr)();
  }
}

int open_after_call(const char* path, int flags, mode_t mode) {
  call_before_open(path);
  return ffkit::testing::real_calls.open(path, flags, mode);
}

int flock_after_call(int fd, int operation) {
  call_before_lock(fd);
  return ffkit::testing::real_calls.flock(fd, operation);
}

}  // namespace

namespace ffkit {
namespace {

class ClaimRaceTest : public ::testing::Test {
 protected:
  void finish(Destination& first) const {
    testing::write_file(folder_ / "train/manifest.json", "{}");
    first.commit();
  }
  void expect_that_the_second_is_refused() {
    EXPECT_ERROR(Destination::claim(folder_), invalid_argument);
    EXPECT_FALSE(before_open) << "the moment did not come";
    EXPECT_TRUE(fs::exists(folder_ / "train/manifest.json"));
    EXPECT_FALSE(fs::exists(folder_ / kUnfinishedMarker));
  }

  testing::Replaced<&testing::Calls::open> open_{open_after_call};
  testing::Replaced<&testing::Calls::flock> flock_{flock_after_call};
  testing::TempDir dir_;
  const fs::path folder_ = dir_ / "out";
};

TEST_F(ClaimRaceTest, TheFirstEndsAfterItsMarkerWasSeen) {
  const auto first = Destination::claim(folder_);
  num_opens = 0;
  before_open = [&] { finish(*first); };
  expect_that_the_second_is_refused();
}

TEST_F(ClaimRaceTest, TheFirstBeginsAndEndsAfterNoMarkerWasSeen) {
  num_opens = 1;
  before_open = [&] {
    const auto first = Destination::claim(folder_);
    finish(*first);
  };
  expect_that_the_second_is_refused();
}

TEST_F(ClaimRaceTest, TheFirstBeginsAfterNoMarkerWasSeen) {
  std::unique_ptr<Destination> first;
  num_opens = 1;
  before_open = [&] { first = Destination::claim(folder_); };
  EXPECT_ERROR(Destination::claim(folder_), invalid_argument);
  EXPECT_TRUE(fs::exists(folder_ / kUnfinishedMarker));
  finish(*first);
  EXPECT_TRUE(fs::exists(folder_ / "train/manifest.json"));
}

// What is there in the end is a third one's marker.
TEST_F(ClaimRaceTest, OthersComeBeforeTheMarkerIsLocked) {
  std::unique_ptr<Destination> third;
  before_lock = [&] {
    { const auto second = Destination::claim(folder_); }
    third = Destination::claim(folder_);
  };
  EXPECT_ERROR(Destination::claim(folder_), invalid_argument);
  EXPECT_FALSE(before_lock) << "the moment did not come";
  EXPECT_TRUE(fs::exists(folder_ / kUnfinishedMarker));
  finish(*third);
  EXPECT_TRUE(fs::exists(folder_ / "train/manifest.json"));
}

}  // namespace
}  // namespace ffkit
