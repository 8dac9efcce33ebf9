#include "loader_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

void check_range(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is {}, must be {} .. {}", name, value, min, max));
}

// Checks `options` and fills in what the caller left to the loader.
LoaderOptions complete(LoaderOptions options) {
  constexpr int64_t kMaxBatch = 1 << 20;
  constexpr int64_t kMaxThreads = 1024;
  constexpr int64_t kMaxBatchesKept = 1024;
  constexpr int64_t kMaxQueueDepth = 4096;
  constexpr int64_t kMinBytes = 64 << 10;
  constexpr int64_t kMaxBytes = int64_t{1} << 40;
  check_range("batch_size", options.batch_size, 1, kMaxBatch);
  check_range("num_threads", options.num_threads, 0, kMaxThreads);
  check_range("prefetch_batches", options.prefetch_batches, 1, kMaxBatchesKept);
  check_range("held_batches", options.held_batches, 1, kMaxBatchesKept);
  check_range("io.queue_depth", options.io.queue_depth, 1, kMaxQueueDepth);
  check_range("io.max_bytes_in_flight", options.io.max_bytes_in_flight, kMinBytes, kMaxBytes);
  check_range("io.num_retries", options.io.num_retries, 0, 1000);
  if (options.num_threads == 0) {
    // Those that this process may run on; 0 when the system does not say.
    options.num_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  if (options.allocator == nullptr) options.allocator = default_slab_allocator();
  return options;
}

std::vector<BatchField> batch_fields(const Schema& schema, const LoaderOptions& options) {
  std::vector<BatchField> fields;
  if (!options.image_field.empty()) {
    fields.push_back(
        {options.image_field, decode_image(schema, options.image_field, options.image)});
  }
  if (!options.label_field.empty()) {
    fields.push_back({options.label_field, decode_integer(schema, options.label_field)});
  }
  fields.insert(fields.end(), options.fields.begin(), options.fields.end());
  return fields;
}

SlabLayout slab_layout(const std::vector<BatchField>& fields, const LoaderOptions& options) {
  SlabLayout layout = make_slab_layout(fields, options.batch_size);
  const bool has_image = !options.image_field.empty();
  if (has_image) layout.image = 0;
  if (!options.label_field.empty()) layout.label = has_image ? 1 : 0;
  layout.image_layout = options.image.output.layout;
  return layout;
}

std::vector<std::filesystem::path> shard_paths(const Dataset& dataset) {
  std::vector<std::filesystem::path> paths;
  for (int64_t i = 0; i < dataset.num_shards(); ++i) paths.push_back(dataset.shard(i).path());
  return paths;
}

size_t max_pending_samples(const LoaderOptions& options) {
  return static_cast<size_t>(options.prefetch_batches * options.batch_size);
}

}  // namespace

LoaderParts::LoaderParts(Dataset data, LoaderOptions loader_options)
    : dataset(std::move(data)),
      options(complete(std::move(loader_options))),
      sampler(dataset.num_records(), options.batch_size, options.sampler),
      fields(batch_fields(dataset.schema(), options)),
      slabs(std::make_shared<SlabPool>(options.allocator,
                                       options.prefetch_batches + options.held_batches,
                                       options.batch_size, slab_layout(fields, options))),
      files(shard_paths(dataset), dataset.manifest().file_bytes(), options.io.direct),
      buffers(static_cast<size_t>(options.io.max_bytes_in_flight), max_pending_samples(options),
              files.alignment()),
      engine(make_read_engine(
          options.io.engine, files.descriptors(),
          {.queue_depth = options.io.queue_depth,
           .num_retries = options.io.num_retries,
           .alignment = files.alignment(),
           .buffer_memory = files.direct() ? buffers.memory() : std::span<std::byte>(),
           .sqpoll = options.io.sqpoll})),
      cached_reader(files, options.io, stats),
      decoder(dataset, options, fields, slabs->layout(), cached_reader, stats),
      mixer(options, slabs->layout()),
      decode_pool(options.num_threads, max_pending_samples(options),
                  [this](int slot, const SampleChunk& chunk) {
                    const int64_t begin = now_ns();
                    for (const int64_t i : std::span(chunk.positions).first(chunk.count)) {
                      decoder.decode(decode_pool, slot, *chunk.batch, i);
                      ReadBufferPool::Block* block =
                          chunk.batch->samples[static_cast<size_t>(i)].block;
                      if (block != nullptr && buffers.release(block)) io_wake.notify();
                    }
                    const bool is_last =
                        BatchQueue::finish(*chunk.batch, static_cast<int64_t>(chunk.count));
                    if (is_last) join_rows(slabs->layout(), *chunk.batch->slab);
                    if (is_last) mixer.run(slot, *chunk.batch->slab);
                    stats.busy_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
                    if (is_last) BatchQueue::complete(*chunk.batch);
                  }) {}

}  // namespace ffkit
