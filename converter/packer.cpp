#include <fmt/format.h>
#include <tbb/concurrent_queue.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include <ffkit/converter/packer.h>
#include <ffkit/format/compression.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

constexpr size_t kSamplesPerBatch = 16;
constexpr size_t kKeptBytes =
    1 << 20;  // a record buffer beyond this is not kept for the next batch

struct EncodedSample {
  std::vector<std::byte> record;
  StoredRecord stored;                // points to `record` or `compressed`
  std::vector<std::byte> compressed;  // when that is smaller
  std::optional<Error> error;         // set: the sample is bad and there is no record
};

struct Batch {
  std::span<const int64_t> samples;  // their numbers in the source's split
  std::array<EncodedSample, kSamplesPerBatch> encoded;
};

// What a thread needs to encode samples.
struct Encoder {
  Encoder(const Schema& schema, const CompressionOptions& compression) : compressor(compression) {
    builder.emplace(schema);
  }
  std::optional<RecordBuilder> builder;
  RecordCompressor compressor;
  SampleBuffers buffers;
};

class SplitPacker {
 public:
  SplitPacker(const Source& source, size_t split, const ConvertOptions& options,
              DatasetWriter& writer, const std::function<void(const SkippedSample&)>& on_skip)
      : source_(source),
        split_(split),
        options_(options),
        writer_(writer),
        on_skip_(on_skip),
        schema_(source.schema()),
        order_(record_order(source.splits()[split], options)),
        num_threads_(options.num_threads > 0 ? options.num_threads
                                             : tbb::info::default_concurrency()) {}

  PackResult run() {
    const size_t num_batches = 2 * static_cast<size_t>(num_threads_);
    batch_bytes_ = options_.max_bytes_in_flight / static_cast<int64_t>(num_batches);
    std::vector<std::unique_ptr<Batch>> batches;
    for (size_t i = 0; i < num_batches; ++i) {
      batches.push_back(std::make_unique<Batch>());
      free_batches_.push(batches.back().get());
    }
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
    throw_if_cancelled();
    return result_;
  }

 private:
  void throw_if_cancelled() const {
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
      throw Error(ErrorCode::cancelled, "stopped on request");
    }
  }

  Batch* next(tbb::flow_control& flow) {
    throw_if_cancelled();
    if (position_ == order_.size()) {
      flow.stop();
      return nullptr;
    }
    // Never empty: there are as many batches as the pipeline has tokens, and append() gives them
    // back before its token ends.
    Batch* batch = nullptr;
    if (!free_batches_.try_pop(batch)) throw std::logic_error("no free batch");
    const size_t first = position_;
    int64_t num_bytes = 0;
    while (position_ < order_.size() && position_ - first < kSamplesPerBatch) {
      num_bytes += source_.sample_bytes(split_, order_[position_]);
      if (position_ > first && num_bytes > batch_bytes_) break;
      ++position_;
    }
    batch->samples = std::span(order_).subspan(first, position_ - first);
    return batch;
  }

  Batch* encode(Batch* batch) {
    Encoder& encoder = encoders_.local();
    for (size_t i = 0; i < batch->samples.size(); ++i) {
      EncodedSample& encoded = batch->encoded[i];
      encoded.error.reset();
      encoder.buffers.clear();
      try {
        throw_if_cancelled();
        source_.read(split_, batch->samples[i], *encoder.builder, encoder.buffers);
        encoder.builder->encode(encoded.record);
        encoded.stored = encoder.compressor.compress(encoded.record);
        if (encoded.stored.codec != Codec::none) {
          encoded.compressed.assign(encoded.stored.bytes.begin(), encoded.stored.bytes.end());
          encoded.stored.bytes = encoded.compressed;
        }
      } catch (const Error& error) {
        // Judged in append(), in record order: which error is reported must not depend on which
        // thread was first.
        encoded.error = error;
        encoder.builder.emplace(schema_);  // forgets the fields that were set before the failure
      }
    }
    return batch;
  }

  void append(Batch* batch) {
    for (size_t i = 0; i < batch->samples.size(); ++i) {
      EncodedSample& encoded = batch->encoded[i];
      if (encoded.error) {
        skip(batch->samples[i], *encoded.error);
      } else {
        writer_.append(encoded.record, encoded.stored);
        ++result_.num_records;
        result_.record_bytes += static_cast<int64_t>(encoded.record.size());
      }
      if (encoded.record.capacity() > kKeptBytes) std::vector<std::byte>().swap(encoded.record);
      if (encoded.compressed.capacity() > kKeptBytes) {
        std::vector<std::byte>().swap(encoded.compressed);
      }
    }
    if (options_.progress) {
      const SourceSplit& split = source_.splits()[split_];
      options_.progress({.split = split.name,
                         .num_samples = split.num_samples,
                         .num_done = result_.num_records + result_.num_skipped,
                         .num_skipped = result_.num_skipped,
                         .bytes_done = result_.record_bytes});
    }
    free_batches_.push(batch);
  }

  void skip(int64_t sample, const Error& error) {
    if (options_.on_error == OnError::fail || error.code() == ErrorCode::cancelled) throw error;
    ++result_.num_skipped;
    if (!on_skip_) return;
    const std::string origin = source_.describe(split_, sample);
    std::string reason = error.what();
    if (reason.starts_with(origin + ": ")) reason.erase(0, origin.size() + 2);
    on_skip_({.split = source_.splits()[split_].name, .source = origin, .reason = reason});
  }

  const Source& source_;
  const size_t split_;
  const ConvertOptions& options_;
  DatasetWriter& writer_;
  const std::function<void(const SkippedSample&)>& on_skip_;
  const Schema schema_;
  const std::vector<int64_t> order_;
  const int num_threads_;
  int64_t batch_bytes_ = 0;
  size_t position_ = 0;  // in order_; only in next()
  PackResult result_;    // only in append()
  tbb::concurrent_queue<Batch*> free_batches_;
  tbb::enumerable_thread_specific<Encoder> encoders_{
      [this] { return Encoder(schema_, writer_.compression()); }};
};

}  // namespace

PackResult pack_split(const Source& source, size_t split, const ConvertOptions& options,
                      DatasetWriter& writer,
                      const std::function<void(const SkippedSample&)>& on_skip) {
  validate(options);
  return SplitPacker(source, split, options, writer, on_skip).run();
}

}  // namespace ffkit
