#include "sample_decoder.h"

#include <errno.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstring>
#include <exception>
#include <utility>

#include "mix64.h"

namespace ffkit {
namespace {

// Where nearly everything is bad, looking on is pointless: even with half of the records bad this many fail once in 65,536 times.
constexpr int kMaxReplacements = 16;

bool is_media_error(const Error& error) {
  return error.code() == ErrorCode::io && error.context().errno_value == EIO;
}

// Broken data, and what the disk could not read however often it was tried. Any other failure of the system, such as a file that was
// cut, is no bad sample: it would silently leave out more and more of the data.
bool is_bad_sample(const Error& error) {
  return error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::not_found || is_media_error(error);
}

}  // namespace

SampleDecoder::SampleDecoder(const Dataset& dataset, const LoaderOptions& options,
                             std::vector<BatchField> fields, const SlabLayout& layout,
                             const CachedReader& cached_reader, StatsCounters& stats)
    : dataset_(dataset),
      options_(options),
      fields_(std::move(fields)),
      layout_(layout),
      cached_reader_(cached_reader),
      stats_(stats),
      slots_(static_cast<size_t>(options.num_threads)) {
  for (Slot& slot : slots_) {
    for (const BatchField& field : fields_) {
      slot.scratch.push_back(field.decoder->make_scratch());
      auto* image = dynamic_cast<ImageFieldDecoder::ImageScratch*>(slot.scratch.back().get());
      if (image != nullptr) slot.images.push_back(image);
    }
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
      // A read that neighbours share fails with any of them: the record may be well when read alone.
      if (is_media_error(error) && sample.is_shared && write_alone(own, batch, position)) return;
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
  const std::span<const std::byte> stored =
      sample.is_cached ? cached_reader_.read(location, slot.cached) : sample.record;
  const int64_t begin = now_ns();
  const auto record =
      slot.unpacker.unpack(dataset_.shard(location.shard_index), location.local_index,
                           location.record, stored, options_.verify_checksums);
  if (options_.verify_checksums || location.record.codec != Codec::none) {
    stats_.checksum_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  }
  return record;
}

void SampleDecoder::write(Slot& slot, std::span<const std::byte> record, int64_t record_index,
                          Batch::Slab& slab, int64_t position) {
  const int64_t begin = now_ns();
  for (ImageFieldDecoder::ImageScratch* image : slot.images) image->times = {};
  const RecordView view(dataset_.schema(), record);
  const SampleKey key{options_.sampler.seed, slab.epoch,
                      random_record(options_.sampler, record_index)};
  for (size_t i = 0; i < fields_.size(); ++i) {
    const SlabField& field = layout_.fields[i];
    std::byte* out =
        slab.memory + field.offset + static_cast<size_t>(position) * field.bytes_per_sample;
    if (field.rows == nullptr) {
      fields_[i].decoder->decode(view, key, slot.scratch[i].get(), out);
      continue;
    }
    const int64_t num_rows = field.rows->decode_rows(view, key, slot.scratch[i].get(), out);
    slab.row_offsets[i][static_cast<size_t>(position) + 1] = num_rows;
    if (field.is_ragged) continue;
    const size_t row_bytes = static_cast<size_t>(num_rows) * field.bytes_per_row;
    std::memset(out + row_bytes, 0, field.bytes_per_sample - row_bytes);
  }
  int64_t transform_ns = 0;
  for (const ImageFieldDecoder::ImageScratch* image : slot.images) {
    transform_ns += image->times.transform_ns;
  }
  stats_.transform_ns.fetch_add(transform_ns, std::memory_order_relaxed);
  stats_.decode_ns.fetch_add(now_ns() - begin - transform_ns, std::memory_order_relaxed);
}

Error SampleDecoder::describe(const Error& error, int64_t record_index) const {
  if (!error.context().path.empty()) return error;
  const Dataset::Location location = dataset_.locate(record_index);
  return Error(error.code(), error.what(),
               {.path = dataset_.shard(location.shard_index).path().string(),
                .record = location.local_index,
                .offset = location.record.offset});
}

std::span<const std::byte> SampleDecoder::read(Slot& slot, int64_t record_index) const {
  const Dataset::Location location = dataset_.locate(record_index);
  return dataset_.shard(location.shard_index)
      .read(location.local_index, slot.replacement, slot.unpacker);
}

// False when the record cannot be read alone either.
bool SampleDecoder::write_alone(Slot& slot, PendingBatch& batch, int64_t position) {
  const int64_t record_index = batch.slab->record_indices[static_cast<size_t>(position)];
  std::span<const std::byte> record;
  try {
    record = read(slot, record_index);
  } catch (const Error&) {
    return false;
  }
  write(slot, record, record_index, *batch.slab, position);
  return true;
}

void SampleDecoder::replace(Slot& slot, PendingBatch& batch, int64_t position,
                            const std::string& reason) {
  const int64_t bad = batch.slab->record_indices[static_cast<size_t>(position)];
  const uint64_t key = mix64(mix64(options_.sampler.seed, static_cast<uint64_t>(batch.slab->epoch)),
                             static_cast<uint64_t>(bad));
  const auto num_records = static_cast<uint64_t>(dataset_.num_records());
  for (uint64_t attempt = 0; attempt < kMaxReplacements; ++attempt) {
    const auto candidate = static_cast<int64_t>(mix64(key, attempt) % num_records);
    try {
      write(slot, read(slot, candidate), candidate, *batch.slab, position);
    } catch (const Error& error) {
      if (!is_bad_sample(error)) throw;
      continue;
    }
    BatchQueue::replace_sample(batch, {.position = position, .bad_record = bad}, candidate);
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
