// SampleDecoder: from the stored bytes of a record to its place in the slab: checksum, fields; and what happens to bad ones.
//
// Thread-safe as long as no two threads use the same slot at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/sampler.h>

#include "allocation/record_memory.h"
#include "batch/batch_queue.h"
#include "batch/slab_layout.h"
#include "decode/decode_pool.h"
#include "fields/image_field_decoder.h"
#include "io/cached_reader.h"
#include "threads/stats_counters.h"

namespace ffkit {

// The longest record that the shards of `dataset` give, as stored and decompressed.
int64_t max_record_bytes(const Dataset& dataset);

class SampleDecoder {
 public:
  // `layout` is that of `fields`. What is given by reference must outlive the decoder.
  SampleDecoder(const Dataset& dataset, const LoaderOptions& options, const Sampler& sampler,
                std::vector<BatchField> fields, const SlabLayout& layout,
                const CachedReader& cached_reader, StatsCounters& stats);

  // Fills the slab of `batch` at `position`, or marks the batch as failed. Does not throw and does not finish the sample. Fields that
  // have parts are shared with idle threads of `pool`, on one of which this is called.
  void decode(DecodePool& pool, int slot, PendingBatch& batch, int64_t position);

 private:
  struct Slot {
    std::vector<std::unique_ptr<FieldDecoder::Scratch>> scratch;  // of each field; may be null
    std::vector<ImageFieldDecoder::ImageScratch*> images;         // those of them that count time
    RecordUnpacker unpacker;
    std::vector<std::byte> cached;       // as stored; of the cached reader
    std::vector<std::byte> replacement;  // as stored; of read()
    int64_t large_bytes = 0;             // taken of memory_ for what lies in these

    void drop_buffers();
  };

  // Where a sample goes, and which thread decodes it.
  struct Job {
    DecodePool& pool;
    int slot;
    PendingBatch& batch;
    int64_t position;
  };
  // What can be decoded on its own: a field, or a part of one whose decoder has parts.
  struct Piece {
    size_t field = 0;
    int64_t part = 0;
  };
  struct SharedSample;

  Slot& own(const Job& job) { return slots_[static_cast<size_t>(job.slot)]; }
  // The record of a sample that was read.
  std::span<const std::byte> unpack(Slot& slot, const PendingSample& sample);
  void write(const Job& job, std::span<const std::byte> record, int64_t record_index);
  void write_shared(const Job& job, const RecordView& record, const SampleKey& key);
  void write_piece(Slot& slot, const RecordView& record, const SampleKey& key, Batch::Slab& slab,
                   int64_t position, const Piece& piece);
  // Calls `work`, which decodes with `slot`, and counts its time; returns nanoseconds.
  template <typename Function>
  int64_t timed(Slot& slot, const Function& work);
  // A record through the page cache, outside the engine's order.
  std::span<const std::byte> read(Slot& slot, int64_t record_index);
  void reserve(Slot& slot, int64_t num_bytes);
  void forget_large(Slot& slot);
  bool write_alone(const Job& job);
  // `error`, completed by file and record where it lacks them.
  Error describe(const Error& error, int64_t record_index) const;
  // Throws Error(io) when `error`, which names its file, comes from a shard that is shorter than it was when it was opened.
  void require_whole_file(const Error& error) const;
  void replace(const Job& job, const std::string& reason);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const Sampler& sampler_;
  const std::vector<BatchField> fields_;
  std::vector<Piece> pieces_;  // of a sample
  bool has_parts_ = false;     // a field has more than one
  const SlabLayout& layout_;
  const CachedReader& cached_reader_;
  StatsCounters& stats_;
  RecordMemory memory_;
  std::vector<Slot> slots_;
};

}  // namespace ffkit
