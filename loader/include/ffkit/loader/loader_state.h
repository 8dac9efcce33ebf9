// LoaderState: the place of a loader, for checkpoints; LoaderStatistics: its counts. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

// The place of a loader. A loader continues from it with exactly the next sample, even with another
// batch size, number of threads or world size.
struct LoaderState {
  std::string fingerprint = {};  // of the data set
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;  // samples of the epoch consumed by all ranks together
  // Sampler::description(): other facts that the sequence depends on, such as the samples of an
  // epoch.
  std::string order = {};
  // A text of ffkit-loader-state-1, from versions in which RandomResizedCrop and RandomCrop
  // mirrored half of the pictures by default. Loader::restore() warns if a loader mirrors none.
  bool flipped_by_default = false;
  bool operator==(const LoaderState&) const = default;

  // One line of printable text, the same for equal states:
  // "ffkit-loader-state-2 data=0123456789abcdef seed=1 epoch=2 position=300 order=shuffle, 1281167
  // samples".
  [[nodiscard]] std::string to_text() const;
  // The state whose to_text() is `text`. Throws Error(invalid_argument) for any other text.
  static LoaderState from_text(std::string_view text);
};

// LoaderStatistics: how the time is spent. A snapshot; plain value.
//
// Reads by field decoders (CountedRead) count like the loader's own reads. The waiting time of
// their threads is in read_seconds, not in decode_seconds or busy_seconds.
struct LoaderStatistics {
  int64_t num_batches = 0;         // handed to the consumer
  int64_t num_samples = 0;         // handed to the consumer
  int64_t num_replaced = 0;        // of them, bad samples replaced by others
  int64_t num_items_left_out = 0;  // bad items, such as boxes without area, of decoded samples
  int64_t num_left_out = 0;        // beside them: bad samples without a replacement
  int64_t bytes_read = 0;          // from store, disk or page cache, alignment included
  int64_t bytes_from_store = 0;    // of them, what the cache did not have when it was asked for
  int64_t num_reads = 0;
  double read_seconds = 0;       // summed over reads, submission to completion
  double checksum_seconds = 0;   // summed over threads: checksums, decompression
  double decode_seconds = 0;     // summed over threads: decode to pixels, other fields
  double transform_seconds = 0;  // summed over threads: resize, flip, normalise, write to the slab
  double busy_seconds = 0;       // summed over threads: all of their work, the three above included
  double wait_seconds = 0;       // the consumer's, in next(): the stall that training feels
  double elapsed_seconds = 0;    // since the first set_epoch(), or the earlier snapshot
  int rank = 0;                  // of world_size, which share an epoch
  int world_size = 1;
  int num_threads = 0;         // that decode
  int prefetch_batches = 0;    // the most that can be ready
  double reads_in_flight = 0;  // mean
  double ready_batches = 0;    // mean number of batches that waited when next() was called
  std::string io_engine;       // what the kernel granted: "io_uring (fixed files, fixed buffers)"
  bool direct_io = false;      // O_DIRECT in use
  std::string order;           // Sampler::description()

  // The counts between `earlier` and this snapshot of the same loader. Means are over that time.
  [[nodiscard]] LoaderStatistics since(const LoaderStatistics& earlier) const;
  // The limit of the loader, in one line: "decode-bound: 2 threads at 98 %", "disk-bound: ...",
  // "network-bound: ..." if it waits for the store, "overhead-bound: ..." if neither reading nor
  // decoding takes the time, or "consumer-bound: ..." if batches wait for training, which is best.
  [[nodiscard]] std::string verdict() const;
};
// For people: one line for each stage, then the verdict.
std::string to_string(const LoaderStatistics& statistics);

}  // namespace ffkit
