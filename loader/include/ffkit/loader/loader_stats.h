// LoaderStats: where the time goes. A snapshot; plain value.
#pragma once

#include <cstdint>
#include <string>

namespace ffkit {

struct LoaderStats {
  int64_t num_batches = 0;   // handed to the consumer
  int64_t num_samples = 0;   // handed to the consumer
  int64_t num_replaced = 0;  // bad samples replaced by others
  int64_t bytes_read = 0;    // from the disk or the page cache, alignment included
  int64_t num_reads = 0;
  double read_seconds = 0;       // summed over reads, submission to completion
  double checksum_seconds = 0;   // summed over threads: checksums, decompression
  double decode_seconds = 0;     // summed over threads: decode to pixels
  double transform_seconds = 0;  // summed over threads: resize, flip, normalise, write to the slab
  double wait_seconds = 0;       // the consumer's, in next(): the stall that training feels
  double elapsed_seconds = 0;    // since the first start_epoch()
  std::string
      io_engine;  // "pread" or "io_uring (fixed files, fixed buffers)": what the kernel granted
  bool direct_io = false;  // O_DIRECT in use

  // One line a stage, for people.
  std::string to_string() const;
};

}  // namespace ffkit
