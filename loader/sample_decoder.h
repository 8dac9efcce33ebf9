// SampleDecoder: from the stored bytes of a record to its place in the slab: checksum, label, pixels; and what happens to bad ones.
//
// Thread-safe as long as no two threads use the same slot at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/loader/loader.h>

#include "batch_queue.h"
#include "image_pipeline.h"
#include "stats_counters.h"

namespace ffkit {

class SampleDecoder {
 public:
  // Throws Error(not_found) when the data set lacks the image or label field, Error(invalid_argument) when they are of types that
  // cannot serve. `dataset`, `options` and `stats` must outlive the decoder.
  SampleDecoder(const Dataset& dataset, const LoaderOptions& options, int num_slots,
                StatsCounters& stats);

  // Fills the slab of `batch` at `position`, or marks the batch as failed. Does not throw and does not finish the sample.
  void decode(int slot, PendingBatch& batch, int64_t position);

 private:
  struct Slot {
    ImagePipeline pipeline;
    RecordUnpacker unpacker;
    std::vector<std::byte> replacement;  // as stored
  };

  // The record of a sample that was read.
  std::span<const std::byte> unpack(Slot& slot, const PendingSample& sample);
  void write(Slot& slot, std::span<const std::byte> record, int64_t record_index, Batch::Slab& slab,
             int64_t position);
  int64_t label(const RecordView& view) const;
  // `error`, completed by file and record where it lacks them.
  Error describe(const Error& error, int64_t record_index) const;
  void replace(Slot& slot, PendingBatch& batch, int64_t position, const std::string& reason);

  const Dataset& dataset_;
  const LoaderOptions& options_;
  StatsCounters& stats_;
  size_t image_field_;
  size_t label_field_;
  DType label_dtype_;
  size_t bytes_per_image_;
  std::vector<Slot> slots_;
};

}  // namespace ffkit
