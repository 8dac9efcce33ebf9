#include "decode/sample_decoder.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "fields/row_count.h"
#include "threads/loader_log.h"

namespace ffkit {
namespace {

// Where nearly everything is bad, looking on is pointless: even with half of the records bad this many fail once in 65,536 times.
constexpr int kMaxReplacements = 16;

int64_t unpacked_bytes(const RecordLocation& record) {
  return record.codec == Codec::none ? 0 : record.raw_bytes;
}

// Of a whole shard, such as a page of its index: it takes an unknown number of records along.
bool is_damage_of_file(const Error& error) {
  const ErrorContext& context = error.context();
  return error.code() == ErrorCode::corrupt && !context.path.empty() && context.record < 0;
}

bool is_media_error(const Error& error) {
  return error.code() == ErrorCode::io && error.context().errno_value == EIO;
}

// Broken data of a record, and what the disk could not read however often it was tried. Any other failure of the system, such as a file that was
// cut, is no bad sample: it would silently leave out more and more of the data.
bool is_bad_sample(const Error& error) {
  if (is_damage_of_file(error)) return false;
  return error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::not_found || is_media_error(error);
}

}  // namespace

int64_t max_record_bytes(const Dataset& dataset) {
  int64_t most = 0;
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    most = std::max(most, dataset.shard(i).options().max_record_bytes);
  }
  return most;
}

SampleDecoder::SampleDecoder(const Dataset& dataset, const LoaderOptions& options,
                             const Sampler& sampler, std::vector<BatchField> fields,
                             const SlabLayout& layout, const CachedReader& cached_reader,
                             StatsCounters& stats)
    : dataset_(dataset),
      options_(options),
      sampler_(sampler),
      fields_(std::move(fields)),
      layout_(layout),
      cached_reader_(cached_reader),
      stats_(stats),
      memory_(2 * max_record_bytes(dataset)),
      slots_(static_cast<size_t>(options.num_threads)) {
  // The undivided fields first: a long one among them is then not what all wait for at the end.
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (layout_.fields[i].parts == nullptr) pieces_.push_back({.field = i});
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    const PartsDecoder* parts = layout_.fields[i].parts;
    const int64_t num_parts = parts == nullptr ? 0 : parts->num_parts();
    has_parts_ = has_parts_ || num_parts > 1;
    for (int64_t part = 0; part < num_parts; ++part) pieces_.push_back({.field = i, .part = part});
  }
  for (Slot& slot : slots_) {
    for (const BatchField& field : fields_) {
      slot.scratch.push_back(field.decoder->make_scratch());
      auto* image = dynamic_cast<ImageFieldDecoder::ImageScratch*>(slot.scratch.back().get());
      if (image != nullptr) slot.images.push_back(image);
    }
  }
}

void SampleDecoder::decode(DecodePool& pool, int slot, PendingBatch& batch, int64_t position) {
  const Job job{pool, slot, batch, position};
  const PendingSample& sample = batch.samples[static_cast<size_t>(position)];
  const int64_t record_index = batch.slab->record_indices[static_cast<size_t>(position)];
  try {
    try {
      write(job, unpack(own(job), sample), record_index);
    } catch (const Error& error) {
      // A read that neighbours share fails with any of them: the record may be well when read alone.
      if (is_media_error(error) && sample.is_shared && write_alone(job)) return;
      const Error described = describe(error, record_index);
      if (is_bad_sample(error) || is_damage_of_file(error)) require_whole_file(described);
      if (options_.bad_samples == BadSamples::fail || !is_bad_sample(error)) throw described;
      replace(job, described.what());
    }
  } catch (const std::bad_alloc&) {
    BatchQueue::fail_sample(
        batch, position,
        std::make_exception_ptr(Error(
            ErrorCode::io,
            "there is not enough memory for the record; use fewer threads "
            "or smaller batches, or give the process more",
            {.path = dataset_.path().string(), .record = dataset_.index_in_split(record_index)})));
  } catch (...) {
    BatchQueue::fail_sample(batch, position, std::current_exception());
  }
  forget_large(own(job));
}

// Memory for a record that takes `num_bytes` copied and decompressed.
void SampleDecoder::reserve(Slot& slot, int64_t num_bytes) {
  forget_large(slot);
  if (num_bytes <= RecordMemory::kSmallBytes) return;
  slot.drop_buffers();  // growing them would take more
  memory_.take(num_bytes);
  slot.large_bytes = num_bytes;
}

void SampleDecoder::forget_large(Slot& slot) {
  if (slot.large_bytes == 0) return;
  slot.drop_buffers();
  memory_.give_back(std::exchange(slot.large_bytes, 0));
}

void SampleDecoder::Slot::drop_buffers() {
  std::vector<std::byte>().swap(cached);
  std::vector<std::byte>().swap(replacement);
  unpacker = RecordUnpacker();
}

std::span<const std::byte> SampleDecoder::unpack(Slot& slot, const PendingSample& sample) {
  if (sample.error != nullptr) std::rethrow_exception(sample.error);
  const Dataset::Location& location = sample.location;
  reserve(slot,
          (sample.is_cached ? location.record.stored_bytes : 0) + unpacked_bytes(location.record));
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

template <typename Function>
int64_t SampleDecoder::timed(Slot& slot, const Function& work) {
  const int64_t begin = now_ns();
  for (ImageFieldDecoder::ImageScratch* image : slot.images) image->times = {};
  work();
  int64_t transform_ns = 0;
  for (const ImageFieldDecoder::ImageScratch* image : slot.images) {
    transform_ns += image->times.transform_ns;
  }
  const int64_t all_ns = now_ns() - begin;
  stats_.transform_ns.fetch_add(transform_ns, std::memory_order_relaxed);
  stats_.decode_ns.fetch_add(all_ns - transform_ns, std::memory_order_relaxed);
  return all_ns;
}

void SampleDecoder::write(const Job& job, std::span<const std::byte> record, int64_t record_index) {
  Batch::Slab& slab = *job.batch.slab;
  const RecordView view(dataset_.schema(), record);
  const SampleKey key{options_.sampler.seed, slab.epoch,
                      random_record(options_.sampler, record_index)};
  if (has_parts_) {
    write_shared(job, view, key);
    return;
  }
  timed(own(job), [&] {
    for (const Piece& piece : pieces_) {
      write_piece(own(job), view, key, slab, job.position, piece);
    }
  });
}

// A sample in pieces; the error is that of the first bad one, whichever thread came first.
struct SampleDecoder::SharedSample {
  const RecordView& record;
  const SampleKey& key;
  const Job& job;
  std::atomic<int64_t> pieces_ns{0};
  std::mutex mutex;  // guards what follows
  int64_t failed_piece = -1;
  std::exception_ptr error;
};

void SampleDecoder::write_shared(const Job& job, const RecordView& record, const SampleKey& key) {
  SharedSample shared{.record = record, .key = key, .job = job};
  const int64_t begin = now_ns();
  job.pool.share(job.slot, std::ssize(pieces_), [this, &shared](int slot_index, int64_t index) {
    try {
      Slot& slot = slots_[static_cast<size_t>(slot_index)];
      shared.pieces_ns += timed(slot, [&] {
        write_piece(slot, shared.record, shared.key, *shared.job.batch.slab, shared.job.position,
                    pieces_[static_cast<size_t>(index)]);
      });
    } catch (...) {
      std::lock_guard lock(shared.mutex);
      if (shared.failed_piece >= 0 && shared.failed_piece < index) return;
      shared.failed_piece = index;
      shared.error = std::current_exception();
    }
  });
  // The caller counts the time that this thread was here; it worked less, and others helped.
  stats_.busy_ns.fetch_add(shared.pieces_ns - (now_ns() - begin), std::memory_order_relaxed);
  if (shared.error != nullptr) std::rethrow_exception(shared.error);
}

void SampleDecoder::write_piece(Slot& slot, const RecordView& record, const SampleKey& key,
                                Batch::Slab& slab, int64_t position, const Piece& piece) {
  const FieldDecoder& decoder = *fields_[piece.field].decoder;
  FieldDecoder::Scratch* scratch = slot.scratch[piece.field].get();
  const SlabField& field = layout_.fields[piece.field];
  std::byte* out =
      slab.memory + field.offset + static_cast<size_t>(position) * field.bytes_per_sample;
  if (field.parts != nullptr) {
    field.parts->decode_part(record, key, piece.part, scratch, out);
    return;
  }
  if (field.rows == nullptr) {
    decoder.decode(record, key, scratch, out);
    return;
  }
  const int64_t num_rows = field.rows->decode_rows(record, key, scratch, out);
  check_row_count(field.name, num_rows, field.rows->max_rows());
  slab.row_offsets[piece.field][static_cast<size_t>(position) + 1] = num_rows;
  if (field.is_ragged) return;
  const size_t row_bytes = static_cast<size_t>(num_rows) * field.bytes_per_row;
  std::memset(out + row_bytes, 0, field.bytes_per_sample - row_bytes);
}

Error SampleDecoder::describe(const Error& error, int64_t record_index) const {
  if (!error.context().path.empty()) return error;
  const Dataset::Location location = dataset_.locate(record_index);
  return Error(error.code(), error.what(),
               {.path = dataset_.shard(location.shard_index).path().string(),
                .record = location.local_index,
                .offset = location.record.offset});
}

// What is wrong may then be the index, which is behind the records.
void SampleDecoder::require_whole_file(const Error& error) const {
  const ErrorContext& context = error.context();
  for (int64_t i = 0; i < dataset_.num_shards(); ++i) {
    const ShardReader& shard = dataset_.shard(i);
    if (shard.path() != context.path) continue;
    const int64_t missing =
        cached_reader_.files().missing_bytes(static_cast<size_t>(i), shard.facts().file_bytes);
    if (missing == 0) continue;
    throw Error(ErrorCode::io,
                fmt::format("the file has {} bytes less than when it was opened; it was cut while "
                            "in use, copy or convert it again",
                            missing),
                {.path = context.path, .record = context.record, .offset = context.offset});
  }
}

std::span<const std::byte> SampleDecoder::read(Slot& slot, int64_t record_index) {
  const Dataset::Location location = dataset_.locate(record_index);
  const ShardReader& shard = dataset_.shard(location.shard_index);
  reserve(slot, location.record.stored_bytes + unpacked_bytes(location.record));
  return shard.read(location.local_index, slot.replacement, slot.unpacker);
}

// False when the record cannot be read alone either.
bool SampleDecoder::write_alone(const Job& job) {
  const int64_t record_index = job.batch.slab->record_indices[static_cast<size_t>(job.position)];
  std::span<const std::byte> record;
  try {
    record = read(own(job), record_index);
  } catch (const Error&) {
    return false;
  }
  write(job, record, record_index);
  return true;
}

void SampleDecoder::replace(const Job& job, const std::string& reason) {
  const Batch::Slab& slab = *job.batch.slab;
  const int64_t bad = slab.record_indices[static_cast<size_t>(job.position)];
  for (int attempt = 0; attempt < kMaxReplacements; ++attempt) {
    const int64_t candidate = sampler_.replacement(slab.epoch, bad, attempt);
    try {
      write(job, read(own(job), candidate), candidate);
    } catch (const Error& error) {
      require_whole_file(describe(error, candidate));
      if (!is_bad_sample(error)) throw;
      continue;
    }
    warn(options_.on_warning,
         fmt::format("record {} is replaced by record {}: {}", dataset_.index_in_split(bad),
                     dataset_.index_in_split(candidate), reason));
    BatchQueue::replace_sample(
        job.batch, {.position = job.position, .bad_record = bad, .reason = reason}, candidate);
    return;
  }
  throw Error(
      ErrorCode::corrupt,
      fmt::format("the record is bad ({}), and so are {} others tried in its place; check the "
                  "data set with ffinspect",
                  reason, kMaxReplacements),
      {.path = dataset_.path().string(), .record = dataset_.index_in_split(bad)});
}

}  // namespace ffkit
