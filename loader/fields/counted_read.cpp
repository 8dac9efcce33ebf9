#include <sys/resource.h>
#include <time.h>

#include <algorithm>

#include <ffkit/loader/counted_read.h>

#include "threads/stats_counters.h"

namespace ffkit {
namespace {

// Of the calling thread. getrusage() knows it only up to the last tick of the kernel's clock,
// milliseconds ago, and would count what ran before a read as running in it.
int64_t running_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace

CountedRead::CountedRead(FieldDecoder::Scratch& scratch) : work_(scratch.work), begin_(now()) {}

CountedRead::~CountedRead() {
  const Moment end = now();
  ++work_.num_reads;
  // Who never gave up its core was preempted at most.
  if (end.num_sleeps == begin_.num_sleeps) return;
  const int64_t waited_ns = end.ns - begin_.ns - (end.running_ns - begin_.running_ns);
  work_.read_wait_ns += std::max<int64_t>(waited_ns, 0);
}

CountedRead::Moment CountedRead::now() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {.ns = now_ns(), .running_ns = running_ns(), .num_sleeps = usage.ru_nvcsw};
}

void CountedRead::add_bytes(size_t num_bytes) {
  work_.bytes_read += static_cast<int64_t>(num_bytes);
}

}  // namespace ffkit
