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

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/sampler.h>

#include "batch/batch_mixer.h"
#include "batch/batch_queue.h"
#include "batch/slab_layout.h"
#include "decode/decode_work.h"
#include "decode/field_writer.h"
#include "decode/record_fetcher.h"
#include "io/cached_reader.h"
#include "io/read_buffer_pool.h"
#include "threads/stats_counters.h"
#include "threads/threads.h"

namespace ffkit {

// What becomes of a sample that was read: its fields in the slab; or, when it is bad, those of
// another one, or an error.
//
//   PendingSample ─▶ RecordFetcher ─▶ FieldWriter ─▶ slab
//                      Error ─▶ a bad sample? ─▶ another record, or fail_sample()
class SampleDecoder {
 public:
  // `layout` is that of `fields`. What is given by reference must outlive the decoder.
  SampleDecoder(const Dataset& dataset, const LoaderOptions& options, const Sampler& sampler,
                std::vector<BatchField> fields, const SlabLayout& layout,
                const CachedReader& cached_reader, StatsCounters& stats);

  // Fills the slab of `batch` at `index_in_batch`, or marks the batch as failed. Does not throw and
  // does not finish the sample. Called by the decoding thread `worker`, with its `helpers`.
  void decode(Helpers& helpers, int worker, PendingBatch& batch, int64_t index_in_batch);

 private:
  // A sample and the thread that decodes it.
  struct Job {
    Helpers& helpers;
    int worker;
    PendingBatch& batch;
    int64_t index_in_batch;
  };

  void write(const Job& job, std::span<const std::byte> record, int64_t record_index);
  bool write_alone(const Job& job, int64_t record_index);
  void fail_or_replace(const Job& job, const Error& error, int64_t record_index);
  void replace(const Job& job, int64_t bad_record, const std::string& reason);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const Sampler& sampler_;
  const ShardFiles& files_;
  RecordFetcher fetcher_;
  FieldWriter writer_;
};

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
