#include <gtest/gtest.h>

#include <ffkit/loader/loader_statistics.h>

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
  EXPECT_EQ(LoaderStatistics().verdict(), "no batch has been taken yet");
}

}  // namespace
}  // namespace ffkit
