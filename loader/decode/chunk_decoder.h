// ChunkDecoder: what a decoding thread does with a chunk of samples, from their bytes to a batch
// that next() may take:
//
//   1. each sample is decoded into its slab, or fails its batch        SampleDecoder
//   2. the buffer in the ring that it was read to loses a user; the I/O   ReadBufferPool, Event
//      thread is woken when it waits for the room
//   3. the samples count as finished; who finishes the batch's last one  PendingBatch::finish()
//      goes on, the others are done
//   4. ragged rows become one array                                      join_rows()
//   5. the pictures are mixed                                             BatchMixer
//   6. arrays of padded views are cut to the largest picture              cut_padding()
//   7. the batch is complete, and the consumer's                         PendingBatch::complete()
//
// The watch knows of each sample while it is decoded. Time counts as busy up to step 7, after which
// the consumer may look at it.
//
// Thread-safe as long as no two threads are the same `worker` at the same time.
#pragma once

#include "batch/batch_mixer.h"
#include "batch/slab_layout.h"
#include "decode/helpers.h"
#include "decode/sample_chunk.h"
#include "decode/sample_decoder.h"
#include "io/read_buffer_pool.h"
#include "threads/event.h"
#include "threads/read_watch.h"
#include "threads/stats_counters.h"

namespace ffkit {

class ChunkDecoder {
 public:
  // All of them must outlive the decoder.
  struct Uses {
    SampleDecoder& samples;
    ReadBufferPool& buffers;
    Event& io_wake;
    const SlabLayout& layout;
    BatchMixer& mixer;
    ReadWatch& watch;
    size_t first_entry;  // of the watch: worker 0's
    StatsCounters& stats;
  };
  explicit ChunkDecoder(const Uses& uses) : uses_(uses) {}

  // Called by the decoding thread `worker`, with its `helpers`. Does not throw.
  void decode(int worker, Helpers& helpers, const SampleChunk& chunk);

 private:
  const Uses uses_;
};

}  // namespace ffkit
