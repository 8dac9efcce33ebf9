// EpochRun: epochs in progress, one after another, from a given position: the I/O thread and the
// queue of its batches. Used by the consumer thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/read_engine.h>
#include <ffkit/loader/sampler.h>

#include "batch/batch_mixer.h"
#include "batch/batch_queue.h"
#include "batch/slab_pool.h"
#include "decode/chunk_decoder.h"
#include "decode/decode_pool.h"
#include "format/dataset/fetch_ahead.h"
#include "io/field_reads.h"
#include "io/read_plan.h"
#include "io/shard_files.h"
#include "threads/threads.h"
#include "views/view_decoders.h"

namespace ffkit {

// LoaderParts: what lives as long as its Loader, whatever the epoch. Never moves.

// Members are destroyed from the last to the first: no thread outlives what it uses.
struct LoaderParts {
  LoaderParts(Dataset data, LoaderOptions loader_options);

  int64_t memory_bound() const;  // as Loader's
  std::chrono::nanoseconds read_timeout() const;
  // What is said of `work` that does not end.
  Error hanging_error(const ReadWatch::Work& work) const;
  // The sampler in the order of a state, where the user left the order open; nothing where that is
  // no order of this loader.
  std::optional<Sampler> sampler_of_state(const std::string& order) const;
  // Entries of `watch`: the reads come first, by their slot of the I/O thread, then the planning of
  // reads, then the decoding threads.
  size_t planning_entry() const { return static_cast<size_t>(options.io.queue_depth); }

  const Dataset dataset;
  const SamplerOptions chosen_order;  // as the user gave it
  // num_threads, allocator and the order filled in. The sampler changes with a state that is
  // restored, while no thread uses it.
  const LoaderOptions options;
  Sampler sampler;
  const BatchFields batch;  // the arrays of the batches
  StatsCounters stats;
  ReadWatch watch;
  Event io_wake;  // tells the I/O thread that there is room for more
  std::shared_ptr<SlabPool> slabs;
  const ShardFiles files;
  FieldReads field_reads;
  ReadBufferPool buffers;
  std::unique_ptr<ReadEngine> engine;
  CachedReader cached_reader;
  SampleDecoder decoder;
  BatchMixer mixer;
  ChunkDecoder chunk_decoder;
  DecodePool decode_pool;
};

// ReadLoop: what the I/O thread does: opens batches, epoch after epoch, submits their reads and
// hands what was read to the decoders.
class ReadLoop {
 public:
  // Reads `epoch` from global position `start`, then the epochs that follow, unless
  // IoOptions::read_ahead_epochs forbids it.
  ReadLoop(LoaderParts& parts, BatchQueue& queue, int64_t epoch, int64_t start);

  // Returns when all is read, or soon after `stop` was set and parts.io_wake notified. No read is
  // in flight then. Errors of single reads go into their batch; throws what concerns all of them.
  void run(const std::atomic<bool>& stop);

 private:
  struct ReadInFlight {
    PendingBatch* batch = nullptr;  // null: none is in flight here
    PlannedRead read;
    std::vector<int64_t> indices_in_batch;  // of the samples that it serves
    int64_t end = 0;                        // of the bytes that are needed, in the file
    ShardReader::OpenFile shard;            // for reads through the engine
    int64_t submitted_ns = 0;
  };
  // A read of a sample that was begun: one of the ranges that its head lacks.
  struct FurtherRead {
    PendingBatch* batch = nullptr;
    int64_t index_in_batch = 0;
    FieldReads::Range range;
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
  void submit_further(const FurtherRead& further);
  void start(const PlannedRead& read, PendingBatch* batch,
             std::span<const int64_t> indices_in_batch, int64_t end, std::byte* to,
             ShardReader::OpenFile file);
  void complete(const ReadCompletion& completion);
  void end_read(PendingBatch* batch, int64_t index_in_batch);
  void plan_rest(PendingBatch* batch, int64_t index_in_batch);
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
  std::vector<FurtherRead> further_;

  std::vector<ReadInFlight> in_flight_;  // by slot, which is the read's tag
  std::vector<size_t> free_slots_;
  int64_t bytes_in_flight_ = 0;
  std::vector<SampleChunk> chunks_;  // complete, to be handed over; the last one may still grow
  size_t last_chunk_bytes_ = 0;
};

// Batches of an epoch from `start` on that are not empty on this rank.
int64_t num_batches_on_rank(const Sampler& sampler, int64_t start);

class EpochRun {
 public:
  // Starts to read ahead at once. `parts` must outlive the run and serve one run at a time.
  EpochRun(LoaderParts& parts, int64_t epoch, int64_t start);
  // Precondition: stop() has returned true, or the process ends.
  ~EpochRun();
  EpochRun(const EpochRun&) = delete;
  EpochRun& operator=(const EpochRun&) = delete;

  // Waits for the reads and the decoding of samples in progress, drops the rest. False when they
  // are not over after `limit`: then all that the threads use must stay, nothing but another stop()
  // makes sense.
  bool stop(std::chrono::nanoseconds limit);

  // Goes on to `epoch` with what has been read ahead. False, and nothing changes, unless all
  // batches of the one before it were returned.
  bool go_on_to(int64_t epoch);
  // As Loader::next().
  std::optional<Batch> next();
  // Whether all batches of this rank have been returned.
  bool at_end() const { return num_returned_ == num_steps_; }
  bool ready() const { return at_end() || queue_.front_is_complete(); }
  // As Loader::wait_for().
  bool wait_for(std::chrono::nanoseconds limit);

  // Whether stop() was called.
  bool is_stopping() const { return stop_; }
  int64_t epoch() const { return epoch_; }
  // The sampler's position behind the batches that next() has returned.
  int64_t position() const;

 private:
  void read_all() noexcept;
  void require_progress();
  void require_place_for_batch() const;

  LoaderParts& parts_;
  int64_t epoch_;
  int64_t start_;
  int64_t num_steps_;  // of this epoch on this rank
  int64_t num_returned_ = 0;
  bool at_end_ = false;
  BatchQueue queue_;
  ReadLoop loop_;
  std::atomic<bool> stop_{false};
  bool is_stopped_ = false;
  int64_t late_since_ns_ = 0;  // of the work that was found to take too long
  std::promise<void> io_ended_;
  std::future<void> io_end_ = io_ended_.get_future();
  std::thread io_thread_;
};

}  // namespace ffkit
