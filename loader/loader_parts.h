// LoaderParts: what lives as long as its Loader, whatever the epoch. Never moves.
#pragma once

#include <memory>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader.h>
#include <ffkit/loader/sampler.h>

#include "batch_mixer.h"
#include "decode_pool.h"
#include "event.h"
#include "read_buffer_pool.h"
#include "read_engine.h"
#include "sample_decoder.h"
#include "shard_files.h"
#include "slab_pool.h"
#include "stats_counters.h"

namespace ffkit {

// Members are destroyed from the last to the first: no thread outlives what it uses.
struct LoaderParts {
  LoaderParts(Dataset data, LoaderOptions loader_options);

  const Dataset dataset;
  const LoaderOptions options;  // num_threads and allocator filled in
  const Sampler sampler;
  const std::vector<BatchField> fields;  // of the batches
  StatsCounters stats;
  Event io_wake;  // tells the I/O thread that there is room for more
  std::shared_ptr<SlabPool> slabs;
  const ShardFiles files;
  ReadBufferPool buffers;
  std::unique_ptr<ReadEngine> engine;
  CachedReader cached_reader;
  SampleDecoder decoder;
  BatchMixer mixer;
  DecodePool decode_pool;
};

}  // namespace ffkit
