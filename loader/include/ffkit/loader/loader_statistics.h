// LoaderStatistics: where the time goes. A snapshot; plain value.
//
// Reads by field decoders (CountedRead) count like the loader's own reads. The time that their
// threads waited is in read_seconds, not in decode_seconds or busy_seconds.
#pragma once

#include <cstdint>
#include <string>

namespace ffkit {

struct LoaderStatistics {
  int64_t num_batches = 0;       // handed to the consumer
  int64_t num_samples = 0;       // handed to the consumer
  int64_t num_replaced = 0;      // of them, bad samples replaced by others
  int64_t bytes_read = 0;        // from store, disk or page cache, alignment included
  int64_t bytes_from_store = 0;  // of them, what the cache did not have when it was asked for
  int64_t num_reads = 0;
  double read_seconds = 0;       // summed over reads, submission to completion
  double checksum_seconds = 0;   // summed over threads: checksums, decompression
  double decode_seconds = 0;     // summed over threads: decode to pixels, other fields
  double transform_seconds = 0;  // summed over threads: resize, flip, normalise, write to the slab
  double busy_seconds = 0;       // summed over threads: all of their work, the three above included
  double wait_seconds = 0;       // the consumer's, in next(): the stall that training feels
  double elapsed_seconds = 0;    // since the first start_epoch(), or the earlier snapshot
  int rank = 0;                  // of world_size, which share an epoch
  int world_size = 1;
  int num_threads = 0;         // that decode
  int prefetch_batches = 0;    // the most that can be ready
  double reads_in_flight = 0;  // mean
  double ready_batches = 0;    // mean number of batches that waited when next() was called
  std::string io_engine;       // what the kernel granted: "io_uring (fixed files, fixed buffers)"
  bool direct_io = false;      // O_DIRECT in use
  std::string order;           // Sampler::description()

  // What was counted between `earlier` and this snapshot of the same loader. Means are of that
  // time.
  [[nodiscard]] LoaderStatistics since(const LoaderStatistics& earlier) const;
  // What limits the loader, in one line: "decode-bound: 2 threads at 98 %", "disk-bound: ...",
  // "network-bound: ..." where the store is waited for, "overhead-bound: ..." where neither reading
  // nor decoding takes the time, or "consumer-bound: ..." when batches wait for training, as they
  // should.
  [[nodiscard]] std::string verdict() const;
};
// For people: one line for each stage, then the verdict.
std::string to_string(const LoaderStatistics& statistics);

}  // namespace ffkit
