#include "sample_decoder.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <exception>

#include <ffkit/format/dtype_visitor.h>

#include "mix64.h"

namespace ffkit {
namespace {

// Where nearly everything is bad, looking on is pointless: even with half of the records bad this many fail once in 65,536 times.
constexpr int kMaxReplacements = 16;

// A disk that fails is no bad sample: more of it would be silently left out.
bool is_bad_sample(const Error& error) {
  return error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::not_found;
}

}  // namespace

SampleDecoder::SampleDecoder(const Dataset& dataset, const LoaderOptions& options, int num_slots,
                             StatsCounters& stats)
    : dataset_(dataset),
      options_(options),
      stats_(stats),
      image_field_(dataset.schema().require(options.image_field)),
      label_field_(dataset.schema().require(options.label_field)) {
  const Field& image = dataset.schema().fields[image_field_];
  if (image.type != FieldType::image && image.type != FieldType::bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}' is of type {}; image_field must name an image", image.name,
                            to_string(image.type)),
                {.path = dataset.path().string()});
  }
  const Field& label = dataset.schema().fields[label_field_];
  if (label.type != FieldType::scalar || !is_integer(label.dtype)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}' is not an integer; label_field must name a scalar of an "
                            "integer type",
                            label.name),
                {.path = dataset.path().string()});
  }
  label_dtype_ = label.dtype;
  const auto size = static_cast<size_t>(output_size(options.transform));
  bytes_per_image_ = 3 * size * size * size_of(options.output.dtype);
  slots_.reserve(static_cast<size_t>(num_slots));
  for (int i = 0; i < num_slots; ++i) {
    slots_.push_back({ImagePipeline(options.transform, options.output), {}, {}});
  }
}

void SampleDecoder::decode(int slot, PendingBatch& batch, int64_t position) {
  const PendingSample& sample = batch.samples[static_cast<size_t>(position)];
  const int64_t record_index = batch.slab->record_indices[static_cast<size_t>(position)];
  Slot& own = slots_[static_cast<size_t>(slot)];
  try {
    try {
      write(own, unpack(own, sample), record_index, *batch.slab, position);
    } catch (const Error& error) {
      const Error described = describe(error, record_index);
      if (options_.bad_samples == BadSamples::fail || !is_bad_sample(error)) throw described;
      replace(own, batch, position, described.what());
    }
  } catch (...) {
    BatchQueue::fail_sample(batch, position, std::current_exception());
  }
}

std::span<const std::byte> SampleDecoder::unpack(Slot& slot, const PendingSample& sample) {
  if (sample.error != nullptr) std::rethrow_exception(sample.error);
  const Dataset::Location& location = sample.location;
  const int64_t begin = now_ns();
  const auto record =
      slot.unpacker.unpack(dataset_.shard(location.shard_index), location.local_index,
                           location.record, sample.record, options_.verify_checksums);
  if (options_.verify_checksums || location.record.codec != Codec::none) {
    stats_.checksum_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  }
  return record;
}

void SampleDecoder::write(Slot& slot, std::span<const std::byte> record, int64_t record_index,
                          Batch::Slab& slab, int64_t position) {
  const RecordView view(dataset_.schema(), record);
  const auto at = static_cast<size_t>(position);
  slab.labels[at] = label(view);
  const std::span<const std::byte> encoded = view.bytes(image_field_);
  PipelineTimes times;
  const SampleKey key{options_.sampler.seed, slab.epoch, record_index};
  slot.pipeline.run(encoded, key, slab.images + at * bytes_per_image_, times);
  stats_.decode_ns.fetch_add(times.decode_ns, std::memory_order_relaxed);
  stats_.transform_ns.fetch_add(times.transform_ns, std::memory_order_relaxed);
}

int64_t SampleDecoder::label(const RecordView& view) const {
  const FieldView field = view.field(label_field_);
  return visit_dtype(label_dtype_, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(field.scalar<T>());
    } else {
      return 0;  // refused by the constructor
    }
  });
}

Error SampleDecoder::describe(const Error& error, int64_t record_index) const {
  if (!error.context().path.empty()) return error;
  const Dataset::Location location = dataset_.locate(record_index);
  return Error(error.code(), error.what(),
               {.path = dataset_.shard(location.shard_index).path().string(),
                .record = location.local_index,
                .offset = location.record.offset});
}

void SampleDecoder::replace(Slot& slot, PendingBatch& batch, int64_t position,
                            const std::string& reason) {
  const auto at = static_cast<size_t>(position);
  const int64_t bad = batch.slab->record_indices[at];
  const uint64_t key = mix64(mix64(options_.sampler.seed, static_cast<uint64_t>(batch.slab->epoch)),
                             static_cast<uint64_t>(bad));
  const auto num_records = static_cast<uint64_t>(dataset_.num_records());
  for (uint64_t attempt = 0; attempt < kMaxReplacements; ++attempt) {
    const auto candidate = static_cast<int64_t>(mix64(key, attempt) % num_records);
    try {
      const Dataset::Location location = dataset_.locate(candidate);
      const auto record = dataset_.shard(location.shard_index)
                              .read(location.local_index, slot.replacement, slot.unpacker);
      write(slot, record, candidate, *batch.slab, position);
    } catch (const Error& error) {
      if (!is_bad_sample(error)) throw;
      continue;
    }
    batch.slab->record_indices[at] = candidate;
    batch.num_replaced.fetch_add(1, std::memory_order_relaxed);
    stats_.num_replaced.fetch_add(1, std::memory_order_relaxed);
    spdlog::warn("record {} is replaced by record {}: {}", bad, candidate, reason);
    return;
  }
  throw Error(
      ErrorCode::corrupt,
      fmt::format("the record is bad ({}), and so are {} others tried in its place; check the "
                  "data set with ffinspect",
                  reason, kMaxReplacements),
      {.path = dataset_.path().string(), .record = bad});
}

}  // namespace ffkit
