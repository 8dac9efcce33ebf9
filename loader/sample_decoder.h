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

  // Fills the slab of `batch` at `position`, or marks the batch as failed. Does not throw and does not finish the sample.
  void decode(int slot, PendingBatch& batch, int64_t position);

 private:
  struct Slot {
    std::vector<std::unique_ptr<FieldDecoder::Scratch>> scratch;  // of each field; may be null
    std::vector<ImageFieldDecoder::ImageScratch*> images;         // those of them that count time
    RecordUnpacker unpacker;
    std::vector<std::byte> cached;       // as stored; of the cached reader
    std::vector<std::byte> replacement;  // as stored; of read()
  };

  // The record of a sample that was read.
  std::span<const std::byte> unpack(Slot& slot, const PendingSample& sample);
  void write(Slot& slot, std::span<const std::byte> record, int64_t record_index, Batch::Slab& slab,
             int64_t position);
  // A record through the page cache, outside the engine's order.
  std::span<const std::byte> read(Slot& slot, int64_t record_index) const;
  bool write_alone(Slot& slot, PendingBatch& batch, int64_t position);
  // `error`, completed by file and record where it lacks them.
  Error describe(const Error& error, int64_t record_index) const;
  void replace(Slot& slot, PendingBatch& batch, int64_t position, const std::string& reason);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  const std::vector<BatchField> fields_;
  const SlabLayout& layout_;
  const CachedReader& cached_reader_;
  StatsCounters& stats_;
  std::vector<Slot> slots_;
};

}  // namespace ffkit
