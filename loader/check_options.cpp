#include "check_options.h"

#include <ffkit/base/machine.h>

#include "base/make_error.h"
#include "base/refuse.h"

namespace ffkit {
namespace {

void check_range(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return;
  throw error_of(ErrorCode::invalid_argument, "{} is {}, must be {} .. {}", name, value, min, max);
}

}  // namespace

LoaderOptions check_options(LoaderOptions options) {
  constexpr int64_t kMaxBatch = 1 << 20;
  constexpr int64_t kMaxThreads = 1024;
  constexpr int64_t kMaxBatchesKept = 1024;
  constexpr int64_t kMaxQueueDepth = 4096;
  constexpr int64_t kMinBytes = 64 << 10;
  constexpr int64_t kMaxBytes = int64_t{1} << 40;
  check_range("batch_size", options.batch_size, 1, kMaxBatch);
  check_range("num_threads", options.num_threads, 0, kMaxThreads);
  check_range("prefetch_batches", options.prefetch_batches, 1, kMaxBatchesKept);
  check_range("held_batches", options.held_batches, 1, kMaxBatchesKept);
  check_range("io.queue_depth", options.io.queue_depth, 1, kMaxQueueDepth);
  check_range("io.max_bytes_in_flight", options.io.max_bytes_in_flight, kMinBytes, kMaxBytes);
  check_range("io.num_retries", options.io.num_retries, 0, 1000);
  check_between("io.read_timeout_s", options.io.read_timeout_s, 0.01, 1e6);
  const auto check_enum = [](const char* name, auto value, auto last) {
    check_range(name, static_cast<int64_t>(value), 0, static_cast<int64_t>(last));
  };
  check_enum("bad_samples", options.bad_samples, BadSamples::skip);
  check_enum("io.engine", options.io.engine, IoEngine::pread);
  check_enum("io.direct", options.io.direct, DirectIo::off);
  if (options.io.make_engine != nullptr) {
    if (options.io.direct == DirectIo::automatic) options.io.direct = DirectIo::off;
    options.io.decoders_read_cache = false;
  }
  if (options.num_threads == 0) {
    options.num_threads = usable_cores();
  }
  if (options.allocator == nullptr) options.allocator = default_slab_allocator();
  return options;
}

}  // namespace ffkit
