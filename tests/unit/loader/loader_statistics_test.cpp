#include <gtest/gtest.h>

#include <optional>

#include <ffkit/base/error.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/loader_statistics.h>

#include "make_dataset.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

LoaderStatistics two_threads_for_ten_seconds(double busy_seconds, double wait_seconds) {
  LoaderStatistics s;
  s.num_batches = 10;
  s.num_samples = 640;
  s.num_threads = 2;
  s.elapsed_seconds = 10;
  s.busy_seconds = busy_seconds;
  s.wait_seconds = wait_seconds;
  s.bytes_read = 1'000'000'000;
  s.num_reads = 1000;
  s.read_seconds = 20;
  s.reads_in_flight = 2;
  return s;
}

TEST(LoaderStatistics, SaysWhatTheLoaderWaitsFor) {
  EXPECT_EQ(two_threads_for_ten_seconds(19.6, 5).verdict(), "decode-bound: 2 threads at 98 %");
  EXPECT_EQ(two_threads_for_ten_seconds(19.6, 0.2).verdict(),
            "consumer-bound: it waits 2.0 % of the time; 2 threads at 98 %");
  EXPECT_EQ(two_threads_for_ten_seconds(4, 8).verdict(),
            "disk-bound: 100 MB/s, 2.0 reads in flight of 20.0 ms each; 2 threads at 20 %");
  LoaderStatistics of_store = two_threads_for_ten_seconds(4, 8);
  of_store.bytes_from_store = 60'000'000;
  EXPECT_EQ(of_store.verdict(),
            "network-bound: 100 MB/s, 2.0 reads in flight of 20.0 ms each; 2 threads at 20 %");
  of_store.bytes_from_store = 40'000'000;  // the cache has the rest
  EXPECT_EQ(of_store.verdict(),
            "disk-bound: 100 MB/s, 2.0 reads in flight of 20.0 ms each; 2 threads at 20 %");
  // A warm cache, and little to decode.
  LoaderStatistics of_small = two_threads_for_ten_seconds(4, 8);
  of_small.read_seconds = 1;
  of_small.reads_in_flight = 0.1;
  EXPECT_EQ(of_small.verdict(),
            "overhead-bound: 0.1 reads in flight; 2 threads at 20 %: what each batch costs "
            "besides, at 1 batches/s; larger batches need less of it");
  EXPECT_EQ(LoaderStatistics().verdict(), "no batch has been taken yet");
}

// For ThreadSanitizer: the engine registers its memory while it is asked what it has registered.
TEST(LoaderStatistics, MayBeAskedForWhileReadsGoOn) {
  const testing::TempDir dir;
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.image.transform = ResizeCenterCrop{.resize = 16, .size = 16};
  options.io.direct = DirectIo::on;
  options.io.max_bytes_in_flight = 64 << 10;
  std::optional<Loader> loader;
  try {
    loader.emplace(testing::make_dataset(dir / "train"), options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    loader->start_epoch(epoch);
    while (loader->next()) EXPECT_FALSE(loader->statistics().io_engine.empty());
  }
  EXPECT_GT(loader->statistics().bytes_read, options.io.max_bytes_in_flight);
}

}  // namespace
}  // namespace ffkit
