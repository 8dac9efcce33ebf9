#include "io/read_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

constexpr int64_t kReadPageBytes = 4096;

// Says what a sector that cannot be read takes along here.
std::exception_ptr failure_of_index(std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.context().errno_value != EIO) return failure;
    return std::make_exception_ptr(
        error
            .with_message(
                "a page of the index cannot be read, so the records of this page cannot be found")
            .with_remedy("copy or convert the data set again"));
  } catch (...) {
    return failure;
  }
}

PlannedSample locate(const Dataset& dataset, int64_t record_index, const FieldReads* fields) {
  PlannedSample sample;
  try {
    sample.location = dataset.locate(record_index);
    sample.is_split = fields != nullptr && fields->splits(sample.location.record);
  } catch (...) {
    sample.error = failure_of_index(std::current_exception());
  }
  return sample;
}

// Locates the records and sorts the places of those that could be.
void find_places(const Dataset& dataset, std::span<const int64_t> records, ReadPlan& plan,
                 const FieldReads* fields) {
  plan.samples.clear();
  plan.places.clear();
  bool is_sorted = true;  // as in sequential order
  for (int64_t record_index : records) {
    const auto index_in_batch = std::ssize(plan.samples);
    plan.samples.push_back(locate(dataset, record_index, fields));
    const PlannedSample& sample = plan.samples.back();
    if (sample.error != nullptr) continue;
    plan.places.push_back(
        {sample.location.shard_index, sample.location.record.offset, index_in_batch});
    is_sorted = is_sorted && (plan.places.size() == 1 ||
                              plan.places[plan.places.size() - 2] < plan.places.back());
  }
  if (!is_sorted) std::sort(plan.places.begin(), plan.places.end());
}

// Makes plan.merged: a read serves the places first .. first+count-1.
void merge_places(int64_t alignment, int64_t max_merged_bytes, ReadPlan& plan, int64_t head_bytes) {
  plan.merged.clear();
  int64_t begin = -1;     // of the record before
  int64_t end = -1;       // of all records of the read
  bool is_alone = false;  // the read before
  for (const ReadPlan::Place& place : plan.places) {
    const PlannedSample& sample = plan.samples[place.index_in_batch];
    const RecordLocation& record = sample.location.record;
    const int64_t record_end = record.offset + (sample.is_split ? head_bytes : record.stored_bytes);
    const int64_t read_end = round_up(record_end, alignment);
    const bool was_alone = std::exchange(is_alone, sample.is_split);
    const bool is_same_shard = !was_alone && !is_alone && !plan.merged.empty() &&
                               plan.merged.back().shard_index == place.shard_index;
    const bool is_same_record = is_same_shard && record.offset == begin;
    if (is_same_record ||
        (is_same_shard && record.offset >= end && record.offset - end < kReadPageBytes &&
         read_end - plan.merged.back().offset <= max_merged_bytes)) {
      PlannedRead& read = plan.merged.back();
      // A record without bytes begins where the next one does, and may come after it.
      read.num_bytes = std::max(read.num_bytes, read_end - read.offset);
      end = std::max(end, record_end);
      ++read.count;
    } else {
      const int64_t offset = round_down(record.offset, alignment);
      const int64_t first = &place - plan.places.data();
      plan.merged.push_back({place.shard_index, offset, read_end - offset, first, 1});
      end = record_end;
    }
    begin = record.offset;
  }
}

}  // namespace

void plan_reads(const Dataset& dataset, std::span<const int64_t> records, int64_t alignment,
                int64_t max_merged_bytes, ReadPlan& plan, const FieldReads* fields) {
  find_places(dataset, records, plan, fields);
  merge_places(alignment, max_merged_bytes, plan, fields == nullptr ? 0 : fields->head_bytes());
  // Back into the order of the batch, in which the decoders take small samples several at a time.
  plan.read_of.assign(records.size(), -1);
  for (const PlannedRead& read : plan.merged) {
    const auto first = plan.places.begin() + read.first;
    if (read.count > 1) {
      std::ranges::sort(first, first + read.count, {}, &ReadPlan::Place::index_in_batch);
    }
    plan.read_of[first->index_in_batch] = &read - plan.merged.data();
  }
  plan.reads.clear();
  plan.indices_in_batch.clear();
  for (size_t index_in_batch = 0; index_in_batch < records.size(); ++index_in_batch) {
    const int64_t first = std::ssize(plan.indices_in_batch);
    if (plan.samples[index_in_batch].error != nullptr) {
      plan.reads.push_back({.first = first, .count = 1});
      plan.indices_in_batch.push_back(index_in_batch);
    } else if (plan.read_of[index_in_batch] >= 0) {
      const PlannedRead& read = plan.merged[plan.read_of[index_in_batch]];
      plan.reads.push_back(read);
      plan.reads.back().first = first;
      for (int64_t i = read.first; i < read.first + read.count; ++i) {
        plan.indices_in_batch.push_back(plan.places[i].index_in_batch);
      }
    }
  }
}

}  // namespace ffkit
