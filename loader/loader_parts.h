// LoaderParts: what lives as long as its Loader, whatever the epoch. Never moves.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/read_engine.h>
#include <ffkit/loader/sampler.h>

#include "batch/batch_mixer.h"
#include "batch/slab_pool.h"
#include "decode/chunk_decoder.h"
#include "decode/decode_pool.h"
#include "io/read_buffer_pool.h"
#include "io/shard_files.h"
#include "threads/stats_counters.h"
#include "threads/threads.h"
#include "views/view_fields.h"

namespace ffkit {

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
  ReadBufferPool buffers;
  std::unique_ptr<ReadEngine> engine;
  CachedReader cached_reader;
  SampleDecoder decoder;
  BatchMixer mixer;
  ChunkDecoder chunk_decoder;
  DecodePool decode_pool;
};

}  // namespace ffkit
