// ReadLoop: what the I/O thread does: opens batches, epoch after epoch, submits their reads and
// hands what was read to the decoders.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "batch/batch_queue.h"
#include "decode/decode_pool.h"
#include "format/dataset/fetch_ahead.h"
#include "io/read_plan.h"
#include "loader_parts.h"

namespace ffkit {

class ReadLoop {
 public:
  // Reads `epoch` from global position `start`, then the epochs that follow, unless
  // LoaderOptions::read_ahead_epochs forbids it.
  ReadLoop(LoaderParts& parts, BatchQueue& queue, int64_t epoch, int64_t start);

  // Returns when all is read, or soon after `stop` was set and parts.io_wake notified. No read is
  // in flight then. Errors of single reads go into their batch; throws what concerns all of them.
  void run(const std::atomic<bool>& stop);

 private:
  struct ReadInFlight {
    PendingBatch* batch = nullptr;  // null: none is in flight here
    PlannedRead read;
    std::vector<int64_t> indices_in_batch;  // of the samples that it serves
    ReadBufferPool::Buffer* buffer = nullptr;
    ShardReader::OpenFile shard;  // for reads through the engine
    int64_t submitted_ns = 0;
  };

  // The records of a batch, as Sampler::batch() has them.
  struct Drawn {
    int64_t epoch = -1;
    int64_t step = -1;
    std::vector<int64_t> records;
    std::vector<int64_t> repetitions;
  };

  void submit_more();
  bool at_end() const;
  bool open_batch();
  void draw(BatchSlab& slab);
  void draw_ahead();
  bool has_next_epoch() const;
  bool begin_next_epoch();
  void name_sources(BatchSlab& slab) const;
  bool submit(const PlannedRead& read);
  void hand_over_unread(std::span<const int64_t> indices_in_batch, const std::exception_ptr& error);
  void check(const ReadCompletion& completion) const;
  void complete(const ReadCompletion& completion);
  void add_to_chunk(PendingBatch* batch, int64_t index_in_batch, size_t num_bytes);
  void hand_over_chunks();
  void drain() noexcept;
  void set_reading(bool is_reading);

  LoaderParts& parts_;
  BatchQueue& queue_;
  const int64_t max_merged_bytes_;

  int64_t epoch_;  // whose batches are being opened ...
  int64_t start_;
  int64_t num_steps_;
  int64_t next_step_ = 0;
  bool goes_on_;  // ... and whether another comes after it
  Drawn ahead_;   // the batch after batch_
  FetchAhead fetch_ahead_;
  bool is_reading_ = false;        // as the decoding threads were told
  PendingBatch* batch_ = nullptr;  // whose reads are being submitted, by plan_
  ReadPlan plan_;
  size_t next_read_ = 0;  // of plan_

  std::vector<ReadInFlight> in_flight_;  // by slot, which is the read's tag
  std::vector<size_t> free_slots_;
  int64_t bytes_in_flight_ = 0;
  std::vector<SampleChunk> chunks_;  // complete, to be handed over; the last one may still grow
  size_t last_chunk_bytes_ = 0;
};

// Batches of an epoch from `start` on that are not empty on this rank.
int64_t num_batches_on_rank(const Sampler& sampler, int64_t start);

}  // namespace ffkit
