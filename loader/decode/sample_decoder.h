// SampleDecoder: what becomes of a sample that was read: its fields in the slab; or, when it is
// bad, those of another one, or an error.
//
//   PendingSample ─▶ RecordFetcher ─▶ FieldWriter ─▶ slab
//                      Error ─▶ bad_samples.h ─▶ another record, or fail_sample()
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

#include "batch/batch_queue.h"
#include "batch/slab_layout.h"
#include "decode/field_writer.h"
#include "decode/helpers.h"
#include "decode/record_fetcher.h"
#include "io/cached_reader.h"
#include "threads/stats_counters.h"

namespace ffkit {

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

}  // namespace ffkit
