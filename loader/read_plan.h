// ReadPlan: the reads that fetch the records of one batch. Neighbouring records, as in sequential order, share a read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

struct PlannedSample {
  Dataset::Location location;
  std::exception_ptr error;  // set when the record cannot be located
};

// Samples first .. first+count-1 of the batch lie in num_bytes at offset; 0 bytes: one sample that has an error.
struct PlannedRead {
  int64_t shard_index = 0;
  int64_t offset = 0;
  int64_t num_bytes = 0;
  int64_t first = 0;
  int64_t count = 0;
};

struct ReadPlan {
  std::vector<PlannedSample> samples;
  std::vector<PlannedRead> reads;
};

// Plans the reads of `records` (record numbers) into `plan`, replacing what it held. Offsets and lengths become multiples of
// `alignment`; reads are merged up to `max_merged_bytes` and over gaps of less than a page.
void plan_reads(const Dataset& dataset, std::span<const int64_t> records, int64_t alignment,
                int64_t max_merged_bytes, ReadPlan& plan);

}  // namespace ffkit
