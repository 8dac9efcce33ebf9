// ReadPlan: the reads that fetch the records of one batch. Neighbouring records, as in sequential
// and windowed order, share a read.
#pragma once

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

// The samples plan.indices_in_batch[first .. first+count-1] lie in num_bytes at offset. 0 bytes:
// one sample that has an error, or records without bytes (FFRecord v1), of which there is nothing
// to read.
struct PlannedRead {
  int64_t shard_index = 0;
  int64_t offset = 0;
  int64_t num_bytes = 0;
  int64_t first = 0;
  int64_t count = 0;
};

struct ReadPlan {
  std::vector<PlannedSample> samples;  // by index in the batch
  std::vector<PlannedRead> reads;      // in the order of the first sample that each of them serves
  std::vector<int64_t> indices_in_batch;  // each once, read by read, ascending within a read

  // Memory of plan_reads() from batch to batch: where the samples lie, and the reads in the order
  // of the disk.
  struct Place {
    int64_t shard_index;
    int64_t offset;
    int64_t index_in_batch;
    bool operator<(const Place& other) const {
      return shard_index != other.shard_index ? shard_index < other.shard_index
                                              : offset < other.offset;
    }
  };
  std::vector<Place> places;
  std::vector<PlannedRead> merged;  // of places
  // By index in the batch: the read in `merged` whose first sample it is, or -1.
  std::vector<int64_t> read_of;
};

// Plans the reads of `records` (record numbers) into `plan`, replacing what it held. Offsets and
// lengths become multiples of `alignment`. Records that lie close together share a read, wherever
// they stand in the batch: reads are merged up to `max_merged_bytes` and over gaps of less than a
// page.
void plan_reads(const Dataset& dataset, std::span<const int64_t> records, int64_t alignment,
                int64_t max_merged_bytes, ReadPlan& plan);

}  // namespace ffkit
