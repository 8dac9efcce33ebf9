#include "decode/chunk_decoder.h"

#include <errno.h>
#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "base/make_error.h"
#include "base/printable.h"
#include "batch/slab_pool.h"
#include "threads/threads.h"

namespace ffkit {
namespace {

// The disk could not read.
bool is_media_error(const Error& error) {
  return error.code() == ErrorCode::io && error.context().errno_value == EIO;
}

// A shard as a whole is concerned, such as a page of its index or its zstd dictionary, or the data
// set: an unknown number of records is lost.
bool is_damage_of_data_set(const Error& error) {
  const ErrorSubject subject = error.context().subject;
  return subject == ErrorSubject::shard || subject == ErrorSubject::dataset;
}

// Broken data of a record, what the disk could not read however often it was tried, and what a
// field decoder calls corrupt, unsupported or not found, whichever file it names. Any other failure
// of the system, such as a file that was cut, is no bad sample: it would silently leave out more
// and more of the data.
bool is_bad_sample(const Error& error) {
  if (is_damage_of_data_set(error)) return false;
  return error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported ||
         error.code() == ErrorCode::not_found || is_media_error(error);
}

// `error`, which record `record_index` led to, completed by file and record where it lacks them. An
// error about another file keeps that, and its text begins with the record.
Error describe(const Dataset& dataset, const Error& error, int64_t record_index) {
  if (is_damage_of_data_set(error)) return error;
  const ErrorContext& context = error.context();
  const RecordName name = dataset.name(record_index);
  if (context.path == without_marks(name.file->string()) && context.record >= 0) return error;
  const Dataset::Location location = dataset.locate(record_index);
  return error.within({.path = name.file->string(),
                       .record = location.local_index,
                       .offset = location.record.offset,
                       .subject = ErrorSubject::sample});
}

// Throws Error(io) when `error`, which names its file, comes from a shard that is shorter than it
// was when it was opened. What is wrong may then be the index, which is behind the records.
void require_whole_file(const Dataset& dataset, const ShardFiles& files, const Error& error) {
  const ErrorContext& context = error.context();
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    const ShardReader& shard = dataset.shard(i);
    if (shard.path() != context.path) continue;
    const int64_t missing = files.missing_bytes(i, shard.summary().file_bytes);
    if (missing == 0) continue;
    throw Error(ErrorCode::io,
                fmt::format("the file is {} bytes shorter than when ffkit opened it, so the file "
                            "was cut while in use; copy or convert the file again",
                            missing),
                {.path = context.path,
                 .record = context.record,
                 .offset = context.offset,
                 .subject = ErrorSubject::shard});
  }
}

// An order of which each record is meant to count once: another one in the place of a bad one would
// count twice. Groups stay whole.
bool counts_each_once(const SamplerOptions& sampler) {
  return sampler.order == Order::sequential && sampler.groups == nullptr &&
         (sampler.tail == Tail::exact || sampler.tail == Tail::balanced);
}

// Where nearly everything is bad, looking on is pointless: even with half of the records bad this
// many fail once in 65,536 times.
constexpr int kMaxReplacements = 16;

}  // namespace

SampleDecoder::SampleDecoder(const Dataset& dataset, const LoaderOptions& options,
                             const Sampler& sampler, std::vector<BatchField> fields,
                             const SlabLayout& layout, const CachedReader& cached_reader,
                             const FieldReads& field_reads, StatsCounters& stats)
    : dataset_(dataset),
      options_(options),
      sampler_(sampler),
      leaves_out_(counts_each_once(options.sampler)),
      files_(cached_reader.files()),
      fetcher_(dataset, options.num_threads, options.io.verify_checksums, cached_reader,
               field_reads, stats),
      writer_(dataset, options.sampler, std::move(fields), layout, options.num_threads,
              field_reads.readable(), stats) {}

void SampleDecoder::decode(Helpers& helpers, int worker, PendingBatch& batch,
                           int64_t index_in_batch) {
  const Job job{helpers, worker, batch, index_in_batch};
  const PendingSample& sample = batch.samples[index_in_batch];
  const int64_t record_index = batch.slab->record_indices[index_in_batch];
  try {
    try {
      write(job, fetcher_.fetch(worker, sample, record_index), record_index);
    } catch (const Error& error) {
      // A read that neighbours share fails with any of them: the record may be well when read
      // alone.
      const bool may_be_well = is_media_error(error) && sample.is_shared;
      if (!may_be_well || !write_alone(job, record_index)) take_bad(job, error, record_index);
    }
  } catch (const std::bad_alloc&) {
    batch.fail_sample(
        index_in_batch,
        std::make_exception_ptr(Error(
            ErrorCode::io,
            "there is not enough memory for the record; use fewer threads or smaller batches, or "
            "give the process more memory",
            {.path = dataset_.path().string(), .record = dataset_.index_in_split(record_index)})));
  } catch (...) {
    batch.fail_sample(index_in_batch, std::current_exception());
  }
  fetcher_.release_large(worker);
}

void SampleDecoder::write(const Job& job, std::span<const std::byte> record, int64_t record_index) {
  try {
    writer_.write(job.helpers, job.worker, *job.batch.slab, job.index_in_batch, record,
                  record_index);
  } catch (const Error& error) {
    // Of a codec, which knows no file and no remedy of ours.
    if (is_out_of_memory(error) && error.context().path.empty()) throw std::bad_alloc();
    throw;
  }
}

// False when the record cannot be read alone either.
bool SampleDecoder::write_alone(const Job& job, int64_t record_index) {
  std::span<const std::byte> record;
  try {
    record = fetcher_.fetch_alone(job.worker, record_index);
  } catch (const Error&) {
    return false;
  }
  write(job, record, record_index);
  return true;
}

// The policy: throws what fails the batch, leaves the record out, or writes another one.
void SampleDecoder::take_bad(const Job& job, const Error& error, int64_t record_index) {
  const Error described = describe(dataset_, error, record_index);
  if (is_bad_sample(error) || is_damage_of_data_set(error)) {
    require_whole_file(dataset_, files_, described);
  }
  if (options_.bad_samples == BadSamples::fail || !is_bad_sample(error)) throw described;
  if (!leaves_out_) return replace(job, record_index, described.what());
  warn(options_.on_warning, fmt::format("record {} is left out: {}",
                                        dataset_.index_in_split(record_index), described.what()));
  job.batch.leave_out({.index_in_batch = job.index_in_batch,
                       .bad_record = record_index,
                       .reason = described.what()});
}

void SampleDecoder::replace(const Job& job, int64_t bad_record, const std::string& reason) {
  const int64_t epoch = job.batch.slab->epoch;
  for (int attempt = 0; attempt < kMaxReplacements; ++attempt) {
    const int64_t candidate = sampler_.replacement(epoch, bad_record, attempt);
    try {
      write(job, fetcher_.fetch_alone(job.worker, candidate), candidate);
    } catch (const Error& error) {
      require_whole_file(dataset_, files_, describe(dataset_, error, candidate));
      if (!is_bad_sample(error)) throw;
      continue;
    }
    warn(options_.on_warning,
         fmt::format("record {} is replaced by record {}: {}", dataset_.index_in_split(bad_record),
                     dataset_.index_in_split(candidate), reason));
    job.batch.replace_sample(
        {.index_in_batch = job.index_in_batch, .bad_record = bad_record, .reason = reason},
        candidate, static_cast<int32_t>(dataset_.source_of(candidate)));
    return;
  }
  throw Error(ErrorCode::corrupt,
              fmt::format("the record is bad ({}), and the {} other records that ffkit tried "
                          "instead are bad too; check the data set with ffinspect",
                          reason, kMaxReplacements),
              {.path = dataset_.path().string(), .record = dataset_.index_in_split(bad_record)});
}

void ChunkDecoder::decode(int worker, Helpers& helpers, const SampleChunk& chunk) {
  const int64_t begin = now_ns();
  PendingBatch& batch = *chunk.batch;
  const size_t entry = uses_.first_entry + static_cast<size_t>(worker);
  for (const int64_t i : std::span(chunk.indices_in_batch).first(chunk.count)) {
    uses_.watch.begin(entry, batch.slab->record_indices[i]);
    uses_.samples.decode(helpers, worker, batch, i);
    ReadBufferPool::Buffer* buffer = batch.samples[i].buffer;
    if (buffer != nullptr && uses_.buffers.release(buffer)) uses_.io_wake.notify();
  }
  uses_.watch.end(entry);
  const bool is_last = batch.finish(static_cast<int64_t>(chunk.count));
  if (is_last) {
    drop_left_out(uses_.layout, *batch.slab);
    join_rows(uses_.layout, *batch.slab);
    uses_.mixer.run(worker, *batch.slab);
    cut_padding(uses_.layout, *batch.slab);
  }
  uses_.stats.busy_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  if (is_last) batch.complete();
}

}  // namespace ffkit
