#include "decode/sample_decoder.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "base/errors_only.h"
#include "decode/bad_samples.h"
#include "threads/loader_log.h"

namespace ffkit {
namespace {

// Where nearly everything is bad, looking on is pointless: even with half of the records bad this
// many fail once in 65,536 times.
constexpr int kMaxReplacements = 16;

}  // namespace

SampleDecoder::SampleDecoder(const Dataset& dataset, const LoaderOptions& options,
                             const Sampler& sampler, std::vector<BatchField> fields,
                             const SlabLayout& layout, const CachedReader& cached_reader,
                             StatsCounters& stats)
    : dataset_(dataset),
      options_(options),
      sampler_(sampler),
      files_(cached_reader.files()),
      fetcher_(dataset, options.num_threads, options.verify_checksums, cached_reader, stats),
      writer_(dataset, options.sampler, std::move(fields), layout, options.num_threads, stats) {}

void SampleDecoder::decode(Helpers& helpers, int worker, PendingBatch& batch,
                           int64_t index_in_batch) {
  const Job job{helpers, worker, batch, index_in_batch};
  const PendingSample& sample = batch.samples[index_in_batch];
  const int64_t record_index = batch.slab->record_indices[index_in_batch];
  try {
    try {
      write(job, fetcher_.fetch(worker, sample), record_index);
    } catch (const Error& error) {
      // A read that neighbours share fails with any of them: the record may be well when read
      // alone.
      const bool may_be_well = is_media_error(error) && sample.is_shared;
      if (!may_be_well || !write_alone(job, record_index))
        fail_or_replace(job, error, record_index);
    }
  } catch (const std::bad_alloc&) {
    batch.fail_sample(
        index_in_batch,
        std::make_exception_ptr(Error(
            ErrorCode::io,
            "there is not enough memory for the record; use fewer threads "
            "or smaller batches, or give the process more",
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

// The policy: throws what fails the batch, or writes another record.
void SampleDecoder::fail_or_replace(const Job& job, const Error& error, int64_t record_index) {
  const Error described = describe(dataset_, error, record_index);
  if (is_bad_sample(error) || is_damage_of_data_set(error)) {
    require_whole_file(dataset_, files_, described);
  }
  if (options_.bad_samples == BadSamples::fail || !is_bad_sample(error)) throw described;
  replace(job, record_index, described.what());
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
  throw Error(
      ErrorCode::corrupt,
      fmt::format("the record is bad ({}), and so are {} others tried in its place; check the "
                  "data set with ffinspect",
                  reason, kMaxReplacements),
      {.path = dataset_.path().string(), .record = dataset_.index_in_split(bad_record)});
}

}  // namespace ffkit
