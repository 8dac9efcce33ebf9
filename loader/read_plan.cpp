#include "read_plan.h"

namespace ffkit {
namespace {

constexpr int64_t kPageBytes = 4096;

int64_t round_down(int64_t value, int64_t multiple) {
  return value / multiple * multiple;
}
int64_t round_up(int64_t value, int64_t multiple) {
  return round_down(value + multiple - 1, multiple);
}

PlannedSample locate(const Dataset& dataset, int64_t record_index) {
  PlannedSample sample;
  try {
    sample.location = dataset.locate(record_index);
  } catch (...) {
    sample.error = std::current_exception();
  }
  return sample;
}

}  // namespace

void plan_reads(const Dataset& dataset, std::span<const int64_t> records, int64_t alignment,
                int64_t max_merged_bytes, ReadPlan& plan) {
  plan.samples.clear();
  plan.reads.clear();
  int64_t end = -1;  // of the last read's records; -1: nothing can join it
  for (int64_t record_index : records) {
    const auto position = static_cast<int64_t>(plan.samples.size());
    plan.samples.push_back(locate(dataset, record_index));
    const PlannedSample& sample = plan.samples.back();
    if (sample.error != nullptr) {
      plan.reads.push_back({.first = position, .count = 1});
      end = -1;
      continue;
    }
    const int64_t shard_index = sample.location.shard_index;
    const int64_t record_begin = sample.location.record.offset;
    const int64_t record_end = record_begin + sample.location.record.stored_bytes;
    const int64_t read_end = round_up(record_end, alignment);
    if (end >= 0 && plan.reads.back().shard_index == shard_index && record_begin >= end &&
        record_begin - end < kPageBytes &&
        read_end - plan.reads.back().offset <= max_merged_bytes) {
      plan.reads.back().num_bytes = read_end - plan.reads.back().offset;
      ++plan.reads.back().count;
    } else {
      const int64_t offset = round_down(record_begin, alignment);
      plan.reads.push_back({shard_index, offset, read_end - offset, position, 1});
    }
    end = record_end;
  }
}

}  // namespace ffkit
