#include "loader_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include <ffkit/format/error.h>
#include <ffkit/image/image_codec.h>

#include "format/refuse.h"
#include "threads/loader_log.h"

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
  check_between("io.read_timeout_s", options.io.read_timeout_s, 0.01, 1e6);
  const auto check_enum = [](const char* name, auto value, auto last) {
    check_range(name, static_cast<int64_t>(value), 0, static_cast<int64_t>(last));
  };
  check_enum("bad_samples", options.bad_samples, BadSamples::skip);
  check_enum("io.engine", options.io.engine, IoEngine::pread);
  check_enum("io.direct", options.io.direct, DirectIo::off);
  if (options.num_threads == 0) {
    // Those that this process may run on; 0 when the system does not say.
    options.num_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  if (options.allocator == nullptr) options.allocator = default_slab_allocator();
  prepare_log(options.on_warning);  // here, for the members that follow begin threads
  if (jpeg_huffman_decoder() == JpegHuffmanDecoder::libjpeg_after_check) {
    warn(options.on_warning,
         "JPEGs are decoded by libjpeg alone, which is slower: the libjpeg of this process is not "
         "the one that ffkit was built with; build ffkit again with its headers");
  }
  return options;
}

Sampler make_sampler(const Dataset& dataset, const LoaderOptions& options) {
  Sampler sampler(dataset.num_records(), options.batch_size, options.sampler);
  if (sampler.num_batches() > 0) return sampler;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("an epoch of {} samples has no batch: they do not fill one of batch_size "
                          "{} on each of {} ranks, and Tail::drop leaves out what is left; give a "
                          "smaller batch_size, Tail::pad or Tail::exact",
                          sampler.epoch_size(), options.batch_size, options.sampler.world_size),
              {.path = dataset.path().string()});
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

size_t max_pending_samples(const LoaderOptions& options) {
  return static_cast<size_t>(options.prefetch_batches * options.batch_size);
}

}  // namespace

LoaderParts::LoaderParts(Dataset data, LoaderOptions loader_options)
    : dataset(std::move(data)),
      options(complete(std::move(loader_options))),
      sampler(make_sampler(dataset, options)),
      fields(batch_fields(dataset.schema(), options)),
      watch(static_cast<size_t>(options.io.queue_depth + 1 + options.num_threads)),
      slabs(std::make_shared<SlabPool>(options.allocator,
                                       options.prefetch_batches + options.held_batches,
                                       options.batch_size, slab_layout(fields, options))),
      files(open_files(dataset), bytes_of_records(dataset), options.io.direct),
      buffers(static_cast<size_t>(options.io.max_bytes_in_flight), max_pending_samples(options),
              files.alignment()),
      engine(make_read_engine(
          options.io.engine, files.descriptors(),
          {.queue_depth = options.io.queue_depth,
           .num_retries = options.io.num_retries,
           .alignment = files.alignment(),
           .buffer_memory = files.direct() ? buffers.memory() : std::span<std::byte>(),
           .sqpoll = options.io.sqpoll,
           .on_warning = options.on_warning})),
      cached_reader(files, options.io, stats),
      decoder(dataset, options, sampler, fields, slabs->layout(), cached_reader, stats),
      mixer(options, slabs->layout()),
      decode_pool(options.num_threads, max_pending_samples(options),
                  [this](int slot, const SampleChunk& chunk) {
                    const int64_t begin = now_ns();
                    for (const int64_t i : std::span(chunk.positions).first(chunk.count)) {
                      watch.begin(decoding_slot(slot),
                                  chunk.batch->slab->record_indices[static_cast<size_t>(i)]);
                      decoder.decode(decode_pool, slot, *chunk.batch, i);
                      ReadBufferPool::Block* block =
                          chunk.batch->samples[static_cast<size_t>(i)].block;
                      if (block != nullptr && buffers.release(block)) io_wake.notify();
                    }
                    watch.end(decoding_slot(slot));
                    const bool is_last =
                        BatchQueue::finish(*chunk.batch, static_cast<int64_t>(chunk.count));
                    if (is_last) join_rows(slabs->layout(), *chunk.batch->slab);
                    if (is_last) mixer.run(slot, *chunk.batch->slab);
                    stats.busy_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
                    if (is_last) BatchQueue::complete(*chunk.batch);
                  }) {}

int64_t LoaderParts::memory_bound() const {
  constexpr int64_t kOverhead = 64;  // of the record that is made of one of FFRecord v1
  const int64_t limit = max_record_bytes(dataset);
  int64_t largest = 0;  // no record can have more
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    const ShardFacts facts = dataset.shard(i).facts();
    largest = std::max({largest, facts.record_bytes + kOverhead, facts.raw_bytes + kOverhead});
  }
  largest = std::min(largest, limit);
  const int64_t large = 2 * largest > RecordMemory::kSmallBytes
                            ? std::min(2 * limit, 2 * largest * options.num_threads)
                            : 0;
  const int64_t small = RecordMemory::kKeptBytes / RecordMemory::kSmallBytes *
                        std::min(largest, RecordMemory::kSmallBytes) * options.num_threads;
  const auto ring = static_cast<int64_t>(buffers.capacity_bytes());
  const int64_t alone = largest > ring ? largest + 2 * static_cast<int64_t>(files.alignment()) : 0;
  return slabs->num_bytes() + ring + alone + large + small;
}

std::chrono::nanoseconds LoaderParts::read_timeout() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options.io.read_timeout_s));
}

Error LoaderParts::hanging_error(const ReadWatch::Work& work) const {
  ErrorContext context{.path = dataset.path().string()};
  if (work.record_index >= 0) {
    // Not by locate(), which may read.
    context.record = dataset.index_in_split(work.record_index);
    int64_t shard = 0;
    while (context.record >= dataset.shard(shard).num_records()) {
      context.record -= dataset.shard(shard++).num_records();
    }
    context.path = dataset.shard(shard).path().string();
  }
  return {
      ErrorCode::io,
      fmt::format("reading has not ended within {:g} s (io.read_timeout_s), the file system may "
                  "hang; when it answers again, the loader can go on",
                  options.io.read_timeout_s),
      context};
}

}  // namespace ffkit
