// ChunkDecoder: what a decoding thread does with a chunk of samples, from their bytes to a batch
// that next() may take:
//
//   1. each sample is decoded into its slab, or fails its batch        SampleDecoder
//   2. the buffer in the ring that it was read to loses a user; the I/O   ReadBufferPool, Event
//      thread is woken when it waits for the room
//   3. the samples count as finished; who finishes the batch's last one  PendingBatch::finish()
//      goes on, the others are done
//   4. samples that are left out go, ragged rows become one array         drop_left_out(),
//                                                                         join_rows()
//   5. the pictures are mixed                                             BatchMixer
//   6. arrays of padded views are cut to the largest picture              cut_padding()
//   7. the batch is complete, and the consumer's                         PendingBatch::complete()
//
// The watch knows of each sample while it is decoded. Time counts as busy up to step 7, after which
// the consumer may look at it.
//
// Thread-safe as long as no two threads are the same `worker` at the same time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/sampler.h>

#include "batch/batch_mixer.h"
#include "batch/batch_queue.h"
#include "batch/slab_pool.h"
#include "decode/decode_pool.h"
#include "io/field_reads.h"
#include "io/read_plan.h"
#include "io/shard_files.h"
#include "threads/threads.h"

namespace ffkit {

// RecordFetcher: the record of a sample, checked and decompressed, from what the I/O thread read,
// from the page cache or by a read of its own. Keeps the memory for it, and bounds that of large
// records (RecordMemory).
//
// Thread-safe as long as no two threads are the same `worker` at the same time.

// The memory that the decoding threads together have for large records, copied from
// the page cache or decompressed. A thread that wants more than is free waits for the others.
// Thread-safe.
class RecordMemory {
 public:
  // Records up to this size, copied and decompressed bytes together, are not counted: each thread
  // keeps its memory for them.
  static constexpr int64_t kSmallBytes = 4 << 20;
  // Buffers of a thread that hold records: as stored, decompressed, and of replacements. A growing
  // one is held twice for a moment.
  static constexpr int64_t kKeptBytes = 6 * kSmallBytes;

  explicit RecordMemory(int64_t capacity_bytes) : free_bytes_(capacity_bytes) {}

  // Preconditions: no more than the capacity; the thread holds none.
  void take(int64_t num_bytes) {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return num_bytes <= free_bytes_; });
    free_bytes_ -= num_bytes;
  }
  void give_back(int64_t num_bytes) {
    {
      std::lock_guard lock(mutex_);
      free_bytes_ += num_bytes;
    }
    given_back_.notify_all();
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable given_back_;
  int64_t free_bytes_;
};

// The longest record that the shards of `dataset` give, as stored and decompressed.
int64_t max_record_bytes(const Dataset& dataset);

class RecordFetcher {
 public:
  // What is given by reference must outlive the fetcher.
  RecordFetcher(const Dataset& dataset, int num_threads, bool verify_checksums,
                const CachedReader& cached_reader, const FieldReads& field_reads,
                StatsCounters& stats);

  // What these return is valid until the next call by the same worker. They throw the Error of a
  // record that cannot be had. Of a sample that was split, only the wanted fields are there.
  std::span<const std::byte> fetch(int worker, const PendingSample& sample, int64_t record_index);
  // A record through the page cache, outside the engine's order.
  std::span<const std::byte> fetch_alone(int worker, int64_t record_index);
  // Gives back the memory of a large record, which others may wait for.
  void release_large(int worker);

 private:
  struct Memory {
    RecordUnpacker unpacker;
    std::vector<std::byte> cached;  // as stored; of the cached reader
    std::vector<std::byte> alone;   // as stored; of fetch_alone()
    int64_t large_bytes = 0;        // taken of budget_ for what lies in these

    void drop_buffers();
  };

  Memory& of(int worker) { return memory_[worker]; }
  void reserve(int worker, int64_t num_bytes);

  const Dataset& dataset_;
  const bool verify_checksums_;
  const CachedReader& cached_reader_;
  const FieldReads& field_reads_;
  StatsCounters& stats_;
  RecordMemory budget_;
  std::vector<Memory> memory_;  // by worker
};

// FieldWriter: from a record to its place in the slab: all fields of a sample, in pieces that idle
// threads take over where a field decoder has parts; and what that took of time and reads, for
// LoaderStatistics.
//
// Thread-safe as long as no two threads are the same `worker` at the same time.

// Where the parts of one sample's rows go (RowPartsDecoder), while several threads decode
// them. The parts before one must be counted or written before its own rows have a place.
//
// Thread-safe but for begin_sample() and num_rows(), which belong to the thread that has the
// sample, before and after the parts.
class RowParts {
 public:
  void begin_sample(int64_t num_parts);

  // Parts are taken by threads in their order, and every one that is taken begins and ends.
  void begin(int64_t part);
  // The first row of `part`, when the parts before it have ended and no later one waits to know its
  // own: `part` need not be counted. Else nothing.
  std::optional<int64_t> first_row_uncounted(int64_t part) const;
  // Says that `part` has `num_rows` rows, waits until that is known of all parts before it, and
  // returns its first row.
  int64_t first_row(int64_t part, int64_t num_rows);
  // `num_rows` were written; 0 where decoding failed, so that later parts do not wait for it.
  void end(int64_t part, int64_t num_rows);

  // Of all parts. Precondition: they have ended.
  int64_t num_rows() const;

 private:
  int64_t sum_before(int64_t part) const;

  mutable std::mutex mutex_;         // guards what follows
  std::condition_variable counted_;  // a further part
  int64_t num_begun_ = 0;
  std::vector<int64_t> num_rows_;  // by part; -1: not yet known
};

class FieldWriter {
 public:
  // `layout` is that of `fields`, which read the fields `readable` of a record (RecordView). What
  // is given by reference must outlive the writer.
  FieldWriter(const Dataset& dataset, const SamplerOptions& sampler, std::vector<BatchField> fields,
              const SlabLayout& layout, int num_threads, const std::vector<bool>* readable,
              StatsCounters& stats);

  // Writes sample `index_in_batch` of `slab` from `record`, which is record `record_index`. Called
  // by the decoding thread `worker`, with whose `helpers` it shares the pieces. Throws what the
  // decoder of the first bad piece throws.
  void write(Helpers& helpers, int worker, BatchSlab& slab, int64_t index_in_batch,
             std::span<const std::byte> record, int64_t record_index);

 private:
  // What can be decoded on its own: a field, or a part of one whose decoder has parts.
  struct Piece {
    size_t field = 0;
    int64_t part = 0;
  };
  struct Worker {
    std::vector<std::unique_ptr<FieldDecoder::Scratch>> scratch;  // by field; may be null
    std::vector<RowParts> rows;  // by field; of the sample that this worker shares with others
  };
  class Stopwatch;
  class WorkTaker;
  struct Sample;

  static std::byte* place_of(const Sample& sample, const SlabField& field);
  Worker& of(int worker) { return workers_[worker]; }
  void write_shared(Helpers& helpers, const Sample& sample);
  void write_piece(const Sample& sample, const Piece& piece, Worker& worker, Stopwatch& watch);
  void write_piece_to(const Sample& sample, const Piece& piece, FieldDecoder::Scratch* scratch,
                      Stopwatch& watch, std::byte* out);
  void count_left_out(const FieldDecoder::Work& work, int64_t record_index);
  void write_row_part(const Sample& sample, const Piece& piece, FieldDecoder::Scratch* scratch,
                      Stopwatch& watch);
  void finish_rows(const Sample& sample, size_t field, int64_t list, int64_t num_rows);

  const Dataset& dataset_;
  const Schema& schema_;
  const bool is_chain_;
  const SamplerOptions& sampler_;
  const std::vector<BatchField> fields_;
  const SlabLayout& layout_;
  const std::vector<bool>* readable_;
  StatsCounters& stats_;
  std::vector<Piece> pieces_;  // of a sample
  bool has_parts_ = false;     // a field has more than one
  std::vector<Worker> workers_;
};

// What becomes of a sample that was read: its fields in the slab; or, when it is bad, those of
// another one, nothing, or an error.
//
//   PendingSample ─▶ RecordFetcher ─▶ FieldWriter ─▶ slab
//                      Error ─▶ a bad sample? ─▶ another record, leave_out() or fail_sample()
class SampleDecoder {
 public:
  // `layout` is that of `fields`. What is given by reference must outlive the decoder.
  SampleDecoder(const Dataset& dataset, const LoaderOptions& options, const Sampler& sampler,
                std::vector<BatchField> fields, const SlabLayout& layout,
                const CachedReader& cached_reader, const FieldReads& field_reads,
                StatsCounters& stats);

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
  void take_bad(const Job& job, const Error& error, int64_t record_index);
  void replace(const Job& job, int64_t bad_record, const std::string& reason);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const Sampler& sampler_;
  const bool leaves_out_;  // bad samples, instead of replacing them
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
