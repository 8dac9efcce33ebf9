#include "pack/packer.h"

#include <tbb/concurrent_queue.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include <ffkit/base/machine.h>

#include "base/machine/parallel_pipeline.h"
#include "base/make_error.h"
#include "input/cancel.h"
#include "input/thread_limit.h"
#include "places/read_ahead.h"

namespace ffkit {
namespace {

constexpr size_t kKeptBytes = 1 << 20;

void shrink(std::vector<std::byte>& bytes) {
  if (bytes.capacity() > kKeptBytes) std::vector<std::byte>().swap(bytes);
}

constexpr size_t kSamplesPerBatch = 16;
constexpr int64_t kSamplesAhead = 64;  // announced to the source before they are read
// Of a source in a store, for which the bytes that are underway count.
constexpr int64_t kMostSamplesAhead = 4096;

struct Batch {
  int64_t unit = 0;
  bool is_first = false;  // of its unit
  bool is_last = false;
  std::span<const int64_t> samples;  // their numbers in the source's split
  std::array<EncodedSample, kSamplesPerBatch> encoded;
};

class Packer {
 public:
  Packer(const Source& source, size_t split, std::span<const PackUnit> units,
         const ConvertOptions& options, const CompressionOptions& compression, PackSink& sink,
         const std::function<void(const PackProgress&)>& on_progress)
      : source_(source),
        split_(split),
        units_(units),
        options_(options),
        sink_(sink),
        on_progress_(on_progress),
        num_threads_(options.num_threads > 0 ? options.num_threads : usable_cores()),
        encoders_([&source, split, &compression, &options] {
          return std::make_unique<SampleEncoder>(source.split_schema(split), compression,
                                                 options.bad_samples, options.seed);
        }) {}

  PackProgress run() {
    const size_t num_batches = 2 * static_cast<size_t>(num_threads_);
    batch_bytes_ = options_.max_bytes_in_flight / static_cast<int64_t>(num_batches);
    std::vector<std::unique_ptr<Batch>> batches;
    for (size_t i = 0; i < num_batches; ++i) {
      batches.push_back(std::make_unique<Batch>());
      free_batches_.push(batches.back().get());
    }
    require_threads(num_threads_);  // this one, others of TBB, and one that closes shards
    // The arena alone gives at most one thread a processor; reading from slow disks gains from
    // more.
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                static_cast<size_t>(num_threads_));
    tbb::task_arena arena(num_threads_);
    arena.execute([&] {
      tbb::parallel_pipeline(
          num_batches,
          tbb::make_filter<void, Batch*>(tbb::filter_mode::serial_in_order,
                                         [this](tbb::flow_control& flow) { return next(flow); }) &
              tbb::make_filter<Batch*, Batch*>(tbb::filter_mode::parallel,
                                               [this](Batch* batch) { return encode(batch); }) &
              tbb::make_filter<Batch*, void>(tbb::filter_mode::serial_in_order,
                                             [this](Batch* batch) { append(batch); }));
    });
    return progress_;
  }

 private:
  Batch* next(tbb::flow_control& flow) {
    // Check for the end before checking for cancellation.
    if (unit_ == units_.size()) {
      flow.stop();
      return nullptr;
    }
    throw_if_cancelled(options_.cancel);
    // Never empty: there are as many batches as the pipeline has tokens, and append() gives them
    // back before its token ends.
    Batch* batch = nullptr;
    if (!free_batches_.try_pop(batch)) throw std::logic_error("no free batch");
    announce();
    const PackUnit& unit = units_[unit_];
    const size_t first = position_;
    int64_t num_bytes = 0;
    while (position_ < unit.samples.size() && position_ - first < kSamplesPerBatch) {
      num_bytes += source_.sample_bytes(split_, unit.samples[position_]);
      if (position_ > first && num_bytes > batch_bytes_) break;
      ++position_;
    }
    num_announced_ -= static_cast<int64_t>(position_ - first);
    batch->unit = unit.number;
    batch->samples = unit.samples.subspan(first, position_ - first);
    batch->is_first = first == 0;
    batch->is_last = position_ == unit.samples.size();
    if (batch->is_last) {
      ++unit_;
      position_ = 0;
    }
    return batch;
  }

  // Keeps the disk busy with what comes next: scattered reads wait for it one by one otherwise.
  void announce() {
    const auto wants_more = [this] {
      return num_announced_ < kSamplesAhead ||
             (num_announced_ < kMostSamplesAhead && read_ahead::wants_more());
    };
    while (announced_unit_ < units_.size() && wants_more()) {
      const std::span<const int64_t> samples = units_[announced_unit_].samples;
      if (announced_position_ == samples.size()) {
        ++announced_unit_;
        announced_position_ = 0;
        continue;
      }
      source_.will_read(split_, samples[announced_position_++]);
      ++num_announced_;
    }
  }

  Batch* encode(Batch* batch) {
    SampleEncoder& encoder = *encoders_.local();
    for (size_t i = 0; i < batch->samples.size(); ++i) {
      // A source may take its time: the rest of the batch is not waited for.
      if (is_cancelled(options_.cancel)) {
        batch->encoded[i].error = Error(ErrorCode::cancelled, kCancelled);
      } else {
        encoder.encode(fields_of(source_, split_, batch->samples[i]), batch->encoded[i]);
        require_readable(batch->samples[i], batch->encoded[i]);
      }
    }
    return batch;
  }

  // A data set is for readers that were not told of longer records.
  void require_readable(int64_t sample, EncodedSample& encoded) const {
    if (encoded.error) return;
    const int64_t num_bytes = encoded.num_bytes();
    if (num_bytes <= options_.max_record_bytes) return;
    encoded.problems.clear();
    encoded.error =
        Error(ErrorCode::unsupported,
              fmt::format(
                  "the record of this sample would have {} bytes, more than the limit of {} bytes; "
                  "raise the limit with {}, here and in all programs that read the data set",
                  num_bytes, options_.max_record_bytes, option_name("max_record")),
              {.path = source_.describe(split_, sample), .subject = ErrorSubject::sample});
  }

  // Errors are judged here, in order: which one is reported must not depend on which thread was
  // first.
  void append(Batch* batch) {
    if (batch->is_first) sink_.begin(batch->unit);
    for (size_t i = 0; i < batch->samples.size(); ++i) {
      EncodedSample& encoded = batch->encoded[i];
      if (encoded.error) {
        if (options_.bad_samples == BadSamples::fail ||
            encoded.error->code() == ErrorCode::cancelled) {
          throw Error(*encoded.error);
        }
        ++progress_.num_skipped;
      } else {
        progress_.record_bytes += static_cast<int64_t>(encoded.record.size());
      }
      sink_.append(batch->samples[i], encoded);
      ++progress_.num_done;
      encoded.shrink();
    }
    if (batch->is_last) sink_.end();
    if (on_progress_) on_progress_(progress_);
    free_batches_.push(batch);
  }

  const Source& source_;
  const size_t split_;
  const std::span<const PackUnit> units_;
  const ConvertOptions& options_;
  PackSink& sink_;
  const std::function<void(const PackProgress&)>& on_progress_;
  const int num_threads_;
  const read_ahead::Scope announced_;
  int64_t batch_bytes_ = 0;
  size_t unit_ = 0;            // only in next()
  size_t position_ = 0;        // in the unit; only in next()
  size_t announced_unit_ = 0;  // these three only in next()
  size_t announced_position_ = 0;
  int64_t num_announced_ = 0;  // and not yet in a batch
  PackProgress progress_;      // only in append()
  tbb::concurrent_queue<Batch*> free_batches_;
  tbb::enumerable_thread_specific<std::unique_ptr<SampleEncoder>> encoders_;
};

}  // namespace

void EncodedSample::shrink() {
  ffkit::shrink(record);
  ffkit::shrink(compressed);
}

int64_t EncodedSample::num_bytes() const {
  return static_cast<int64_t>(std::max(record.size(), stored.bytes.size()));
}

SetFields fields_of(const Source& source, size_t split, int64_t sample) {
  return [&source, split, sample](RecordBuilder& record, SampleBuffers& buffers) {
    source.read(split, sample, record, buffers);
  };
}

SampleEncoder::SampleEncoder(Schema schema, const CompressionOptions& compression,
                             BadSamples bad_samples, uint64_t seed)
    : schema_(std::move(schema)), content_(schema_), compressor_(compression) {
  builder_.emplace(schema_);
  buffers_.set_bad_samples(bad_samples);
  buffers_.set_seed(seed);
}

void SampleEncoder::encode(const SetFields& set_fields, EncodedSample& out) {
  out.error.reset();
  out.problems.clear();
  buffers_.clear();
  try {
    set_fields(*builder_, buffers_);
    builder_->encode(out.record);
    out.content = content_.kept(out.record, buffers_);
    out.stored = compressor_.compress(out.record);
    if (out.stored.codec != Codec::none) {
      out.compressed.assign(out.stored.bytes.begin(), out.stored.bytes.end());
      out.stored.bytes = out.compressed;
    }
    out.problems = buffers_.problems();
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;  // it is not the sample that is bad
    out.error = error.with_subject(ErrorSubject::sample);
    builder_.emplace(schema_);  // forgets the fields that were set before the failure
  }
}

PackProgress pack_samples(const Source& source, size_t split, std::span<const PackUnit> units,
                          const ConvertOptions& options, const CompressionOptions& compression,
                          PackSink& sink,
                          const std::function<void(const PackProgress&)>& on_progress) {
  return Packer(source, split, units, options, compression, sink, on_progress).run();
}

}  // namespace ffkit
