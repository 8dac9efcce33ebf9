#include "data/record_sizes.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <atomic>

namespace ffkit {
namespace {

constexpr int64_t kMaxRecords = 2'000'000;
constexpr int64_t kNumRuns = 512;
constexpr int64_t kRunRecords = 127;

}  // namespace

RecordSizes read_record_sizes(const Dataset& dataset) {
  const int64_t num_records = dataset.num_records();
  RecordSizes sizes;
  sizes.is_sample = num_records > kMaxRecords;
  const int64_t count = sizes.is_sample ? kNumRuns * kRunRecords : num_records;
  sizes.stored_bytes.resize(count);
  std::atomic<int64_t> stored_sum = 0;
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, 1024), [&](const auto& range) {
    int64_t stored = 0;
    for (int64_t i = range.begin(); i < range.end(); ++i) {
      const int64_t run_begin = num_records / kNumRuns * (i / kRunRecords);
      const RecordLocation where =
          dataset.locate(sizes.is_sample ? run_begin + i % kRunRecords : i).record;
      sizes.stored_bytes[i] = where.stored_bytes;
      stored += where.stored_bytes;
    }
    stored_sum += stored;
  });
  sizes.mean = stored_sum / std::max<int64_t>(1, count);
  tbb::parallel_sort(sizes.stored_bytes);
  return sizes;
}

}  // namespace ffkit
