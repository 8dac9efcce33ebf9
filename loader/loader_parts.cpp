#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <ffkit/base/machine.h>

#include "base/make_error.h"
#include "epoch_run.h"
#include "io/kernel_read_engine.h"
#include "sampling/order_choice.h"
#include "threads/threads.h"

namespace ffkit {
namespace {

void check_range(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return;
  throw error_of(ErrorCode::invalid_argument, "{} is {}; expected {} to {}", name, value, min, max);
}

// `options`, with what the caller left to the loader filled in: num_threads, allocator, and what
// io.make_engine decides. Throws Error(invalid_argument) for values out of range; those of the
// sampler, the picture options and the mixing are checked where they are used.
LoaderOptions check_options(LoaderOptions options) {
  constexpr int64_t kMaxBatch = 1 << 20;
  constexpr int64_t kMaxThreads = 1024;
  constexpr int64_t kMaxBatchesKept = 1024;
  constexpr int64_t kMaxQueueDepth = 4096;
  constexpr int64_t kMinBytes = 64 << 10;
  constexpr int64_t kMaxBytes = int64_t{1} << 40;
  check_range("batch_size", options.batch_size, 1, kMaxBatch);
  check_range("num_threads", options.num_threads, 0, kMaxThreads);
  check_range("prefetch_batches", options.memory.prefetch_batches, 1, kMaxBatchesKept);
  check_range("held_batches", options.memory.held_batches, 1, kMaxBatchesKept);
  check_range("io.queue_depth", options.io.queue_depth, 1, kMaxQueueDepth);
  check_range("io.max_bytes_in_flight", options.io.max_bytes_in_flight, kMinBytes, kMaxBytes);
  check_range("io.num_retries", options.io.num_retries, 0, 1000);
  check_between("io.read_timeout_s", options.io.read_timeout_s, 0.01, 1e6);
  const auto check_enum = [](const char* name, auto value, auto last) {
    check_range(name, static_cast<int64_t>(value), 0, static_cast<int64_t>(last));
  };
  check_enum("bad_samples", options.bad_samples, BadSamples::keep);
  if (options.bad_samples == BadSamples::keep) {
    throw argument_error(
        "bad_samples",
        "bad_samples is 'keep', but only conversions accept this value; give 'fail' or 'skip'");
  }
  check_enum("io.engine", options.io.engine, IoEngine::pread);
  check_enum("io.direct", options.io.direct, DirectIo::off);
  if (options.io.make_engine != nullptr) {
    if (options.io.direct == DirectIo::automatic) options.io.direct = DirectIo::off;
    options.io.decoders_read_cache = false;
  }
  if (options.num_threads == 0) options.num_threads = usable_cores();
  if (options.memory.allocator == nullptr) options.memory.allocator = default_slab_allocator();
  return options;
}

// A mixture without numbers of records is one of the data set's sources.
LoaderOptions with_mixed_sizes(LoaderOptions options, const Dataset& dataset) {
  std::optional<Mixture>& mixture = options.sampler.mixture;
  if (!mixture || !mixture->num_records.empty()) return options;
  mixture->num_records = dataset.source_sizes();
  for (size_t i = 0; i < mixture->num_records.size(); ++i) {
    if (mixture->num_records[i] > 0) continue;
    throw error_at(dataset.source(static_cast<int64_t>(i)).path(), ErrorCode::invalid_argument,
                   "the data set has no records; leave this data set out of the mixture");
  }
  return options;
}

LoaderOptions with_order(LoaderOptions options, const Dataset& dataset) {
  options.sampler = with_order_for(dataset, std::move(options.sampler));
  return options;
}

Sampler make_sampler(const Dataset& dataset, const LoaderOptions& options) {
  Sampler sampler(dataset.num_records(), options.batch_size, options.sampler);
  if (sampler.num_batches() > 0) return sampler;
  throw error_at(dataset.path(), ErrorCode::invalid_argument,
                 "an epoch has no batch, because {} samples do not fill one batch with batch_size "
                 "{} on each of {} ranks, and the tail 'drop' leaves out incomplete batches; give "
                 "a smaller batch_size, or the tail 'pad' or 'exact'",
                 sampler.epoch_size(), options.batch_size, options.sampler.world_size);
}

SlabLayout slab_layout(const BatchFields& fields, const LoaderOptions& options) {
  SlabLayout layout = make_slab_layout(fields.fields, options.batch_size);
  layout.num_visible = fields.num_visible;
  layout.views = fields.views;
  layout.padded = fields.padded;
  if (fields.num_pictures > 0 && options.views.empty()) layout.image = 0;
  if (!options.label_field.empty()) layout.label = static_cast<int>(fields.num_pictures);
  layout.image_layout = options.image.output.layout;
  return layout;
}

std::unique_ptr<ReadEngine> make_engine(const IoOptions& io, const WarningSink& on_warning,
                                        const ShardFiles& files, const ReadBufferPool& buffers) {
  const ReadEngineOptions options{
      .queue_depth = io.queue_depth,
      .num_retries = io.num_retries,
      .alignment = files.alignment(),
      .buffer_memory = files.direct() ? buffers.memory() : std::span<std::byte>(),
      .sqpoll = io.sqpoll,
      .on_warning = on_warning};
  if (io.make_engine == nullptr) {
    // Only threads wait for a disk and for a store at the same time.
    if (!files.are_local()) return make_read_engine(IoEngine::pread, {}, options);
    return make_read_engine(io.engine, files.descriptors(), options);
  }
  auto engine = io.make_engine(files.all_files(), options);
  if (engine != nullptr) return engine;
  throw Error(ErrorCode::invalid_argument,
              "io.make_engine returned no engine; return an engine, or leave out make_engine");
}

// The fields that the decoders read; nothing: one of them may read any field.
std::optional<std::vector<bool>> named_fields(const Schema& schema,
                                              const std::vector<BatchField>& fields) {
  std::vector<bool> named(schema.fields.size());
  for (const BatchField& field : fields) {
    const std::optional<std::vector<size_t>> inputs = field.decoder->inputs();
    if (!inputs) return std::nullopt;
    for (const size_t input : *inputs) named.at(input) = true;
  }
  return named;
}

size_t max_pending_samples(const LoaderOptions& options) {
  return static_cast<size_t>(options.memory.prefetch_batches * options.batch_size);
}

}  // namespace

LoaderParts::LoaderParts(Dataset data, LoaderOptions loader_options)
    : dataset(std::move(data)),
      chosen_order(loader_options.sampler),
      options(
          with_order(with_mixed_sizes(check_options(std::move(loader_options)), dataset), dataset)),
      sampler(make_sampler(dataset, options)),
      batch(batch_fields(dataset.schema(), options)),
      watch(static_cast<size_t>(options.io.queue_depth + 1 + options.num_threads)),
      slabs(std::make_shared<SlabPool>(
          options.memory.allocator, options.memory.prefetch_batches + options.memory.held_batches,
          options.batch_size, slab_layout(batch, options))),
      files(dataset, bytes_of_records(dataset), options.io.direct),
      field_reads(dataset, files, named_fields(dataset.schema(), batch.fields)),
      buffers(static_cast<size_t>(options.io.max_bytes_in_flight), max_pending_samples(options),
              files.alignment()),
      engine(make_engine(options.io, options.on_warning, files, buffers)),
      cached_reader(files, options.io, stats),
      decoder(dataset, options, sampler, batch.fields, slabs->layout(), cached_reader, field_reads,
              stats),
      mixer(options, slabs->layout()),
      chunk_decoder({.samples = decoder,
                     .buffers = buffers,
                     .io_wake = io_wake,
                     .layout = slabs->layout(),
                     .mixer = mixer,
                     .watch = watch,
                     .first_entry = planning_entry() + 1,
                     .stats = stats}),
      decode_pool(options.num_threads, max_pending_samples(options),
                  [this](int worker, Helpers& helpers, const SampleChunk& chunk) {
                    chunk_decoder.decode(worker, helpers, chunk);
                  }) {}

int64_t LoaderParts::memory_bound() const {
  constexpr int64_t kOverhead = 64;  // of the record that is made of one of FFRecord v1
  const int64_t limit = max_record_bytes(dataset);
  int64_t largest = 0;  // no record can have more
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    const ShardSummary facts = dataset.shard(i).summary();
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

std::optional<Sampler> LoaderParts::sampler_of_state(const std::string& order) const {
  std::optional<SamplerOptions> found = with_order_of_state(dataset, chosen_order, order);
  if (!found) return std::nullopt;
  Sampler made(dataset.num_records(), options.batch_size, std::move(*found));
  if (made.description() != order) return std::nullopt;
  return made;
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
      fmt::format("reading did not end within {:g} s (io.read_timeout_s), so the file system may "
                  "hang; the loader can continue when the file system answers again",
                  options.io.read_timeout_s),
      context};
}

}  // namespace ffkit
