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
#include <ffkit/loader/loader.h>

#include "batch_queue.h"
#include "cached_reader.h"
#include "decode_pool.h"
#include "image_field_decoder.h"
#include "slab_layout.h"
#include "stats_counters.h"

namespace ffkit {

class SampleDecoder {
 public:
  // `layout` is that of `fields`. What is given by reference must outlive the decoder.
  SampleDecoder(const Dataset& dataset, const LoaderOptions& options,
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
  std::span<const std::byte> read(Slot& slot, int64_t record_index) const;
  bool write_alone(const Job& job);
  // `error`, completed by file and record where it lacks them.
  Error describe(const Error& error, int64_t record_index) const;
  void replace(const Job& job, const std::string& reason);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const std::vector<BatchField> fields_;
  std::vector<Piece> pieces_;  // of a sample
  bool has_parts_ = false;     // a field has more than one
  const SlabLayout& layout_;
  const CachedReader& cached_reader_;
  StatsCounters& stats_;
  std::vector<Slot> slots_;
};

}  // namespace ffkit
