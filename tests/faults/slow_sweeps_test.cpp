// What LoaderStatistics says where the sweeps, which field decoders read themselves, lie on a slow
// disk. The keyframes are read by preadv2(), from the page cache.
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>

#include "faults/system_calls.h"
#include "nuscenes/make_nuscenes.h"
#include "test_prelude.h"

namespace {

constexpr int64_t kLeastBytes = 3000;  // a sweep has more, a number of another keyframe less
constexpr auto kSeek = std::chrono::milliseconds(40);  // far more than decoding takes

std::atomic<bool> is_slow{false};
std::atomic<int64_t> num_slow_reads{0};
std::atomic<int64_t> slow_bytes{0};

ssize_t slow_pread(int fd, void* data, size_t num_bytes, off_t offset) {
  if (is_slow && num_bytes >= size_t{kLeastBytes}) {
    ++num_slow_reads;
    slow_bytes += static_cast<int64_t>(num_bytes);
    std::this_thread::sleep_for(kSeek);
  }
  return ffkit::testing::real_calls.pread(fd, data, num_bytes, offset);
}

}  // namespace

namespace ffkit::nuscenes {
namespace {

class SlowSweeps : public ::testing::Test {
 protected:
  SlowSweeps() { testing::make_nuscenes(dir_ / "set", {.num_scenes = 1}); }

  LoaderStatistics load_epoch(int num_threads, bool slowly) {
    const Split split = open_split(dir_ / "set", "mini_val");
    KeyframeOptions clouds;
    clouds.cameras.channels.clear();
    LoaderOptions options{.batch_size = 1, .image_field = "", .label_field = ""};
    options.fields = keyframe_fields(split, clouds);
    options.num_threads = num_threads;
    options.io = {.engine = IoEngine::pread,
                  .direct = DirectIo::off,
                  .decoders_read_cache = false,
                  .read_ahead_epochs = false};
    Loader loader(split.keyframes, options);
    // The pages of the indexes stay in memory.
    static_cast<void>(split.keyframes.locate(0));
    static_cast<void>(split.sweeps->locate(0));
    num_slow_reads = 0;
    slow_bytes = 0;
    is_slow = slowly;
    while (loader.next()) {
    }
    is_slow = false;
    return loader.statistics();
  }

  ffkit::testing::Replaced<&ffkit::testing::Calls::pread> pread_{slow_pread};
  testing::TempDir dir_;
};

TEST_F(SlowSweeps, AreReadingAndNotDecoding) {
  for (const int num_threads : {1, 2}) {
    const LoaderStatistics fast = load_epoch(num_threads, false);
    const LoaderStatistics slow = load_epoch(num_threads, true);
    EXPECT_EQ(slow.verdict().substr(0, 10), "disk-bound") << to_string(slow);
    ASSERT_GE(num_slow_reads, 6) << "two keyframes with two and four sweeps before them";
    const double slept = std::chrono::duration<double>(kSeek).count() * double(num_slow_reads);
    EXPECT_GE(slow.read_seconds, slept);
    EXPECT_LT(slow.decode_seconds, slow.read_seconds);
    EXPECT_GE(slow.bytes_read, slow_bytes) << "of the keyframes too";
    EXPECT_GT(slow.num_reads, num_slow_reads);
    // They are the same reads, slow or not.
    EXPECT_EQ(fast.bytes_read, slow.bytes_read);
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
