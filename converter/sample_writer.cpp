#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <ffkit/converter/sample_writer.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/machine.h>
#include <ffkit/format/unfinished.h>
#include <ffkit/format/version.h>

#include "format/dataset/split_name.h"
#include "format/errors_only.h"
#include "format/make_error.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "pack/sample_encoder.h"

namespace ffkit {
namespace {

constexpr size_t kJobsPerThread = 32;  // small samples: enough that no thread waits for the caller
constexpr std::chrono::milliseconds kPollInterval{50};

ConvertOptions as_convert_options(const SampleWriterOptions& options) {
  return {.num_threads = options.num_threads,
          .shard_bytes = options.shard_bytes,
          .zstd_level = options.zstd_level,
          .max_bytes_in_flight = options.max_bytes_in_flight,
          .max_record_bytes = options.max_record_bytes};
}

Manifest manifest_of(const std::string& split, Schema schema, const SampleWriterOptions& options) {
  Manifest manifest{.split = split,
                    .schema = std::move(schema),
                    .classes = options.classes,
                    .class_names = options.class_names,
                    .source = options.source,
                    .options = options.options,
                    .created_by = "ffkit " FFKIT_VERSION};
  manifest.options.emplace("order", to_string(RecordOrder::source));
  manifest.options["shard_bytes"] = std::to_string(options.shard_bytes);
  if (options.zstd_level != 0) {
    manifest.options["zstd_level"] = std::to_string(options.zstd_level);
    manifest.options["zstd_dictionary_bytes"] = "0";
  }
  return manifest;
}

struct Job {
  int64_t number = 0;
  int64_t num_bytes = 0;
  SetFields set_fields;
  EncodedSample encoded;
  std::exception_ptr failure;
  bool is_done = false;
};

}  // namespace

void validate(const SampleWriterOptions& options) {
  validate(as_convert_options(options));
  if (!options.class_names.empty() && options.class_names.size() != options.classes.size()) {
    throw error_of(ErrorCode::invalid_argument,
                   "there are {} readable names for {} classes; give one for each, or none",
                   options.class_names.size(), options.classes.size());
  }
}

struct SampleWriter::Impl {
  Impl(const std::filesystem::path& folder, const std::string& split, Schema schema_of_split,
       const SampleWriterOptions& options)
      : schema(std::move(schema_of_split)),
        compression{.level = options.zstd_level},
        max_bytes_in_flight(options.max_bytes_in_flight),
        max_record_bytes(options.max_record_bytes),
        seed(options.seed),
        poll(options.poll),
        claimed(folder,
                {.kind = Destination::Kind::split, .note = options.note, .poll = options.poll}) {
    claimed.note_start_over(options.note, folder);
    writer.emplace(
        folder, manifest_of(split, schema, options),
        DatasetWriterOptions{.shard_bytes = options.shard_bytes, .compression = compression});
    const int num_threads = options.num_threads > 0 ? options.num_threads : usable_cores();
    max_jobs = kJobsPerThread * static_cast<size_t>(num_threads);
    try {
      for (int i = 0; i < num_threads; ++i) threads.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }

  ~Impl() { stop(); }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_stopping = true;
    }
    to_do.notify_all();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }

  void work() {
    std::optional<SampleEncoder> encoder;
    std::unique_lock lock(mutex);
    for (;;) {
      to_do.wait(lock, [this] { return is_stopping || num_begun < jobs.size(); });
      if (is_stopping) return;
      Job& job = *jobs[num_begun++];
      lock.unlock();
      try {
        if (!encoder) encoder.emplace(schema, compression, OnError::fail, seed);
        encoder->encode(job.set_fields, job.encoded);
      } catch (...) {
        job.failure = std::current_exception();
      }
      // Gives back what it holds, here and not in the thread that appends.
      job.set_fields = nullptr;
      lock.lock();
      job.is_done = true;
      append_done(lock);
    }
  }

  // Whoever ends the job that is next appends it, and those behind it that are done: one thread at
  // a time.
  void append_done(std::unique_lock<std::mutex>& lock) {
    if (is_appending) return;
    is_appending = true;
    while (!failure && !is_stopping && !jobs.empty() && jobs.front()->is_done) {
      const std::unique_ptr<Job> job = std::move(jobs.front());
      jobs.pop_front();
      --num_begun;
      lock.unlock();
      std::exception_ptr problem;
      try {
        append(*job);
      } catch (...) {
        problem = std::current_exception();
      }
      lock.lock();
      if (problem) failure = problem;
      bytes_in_flight -= job->num_bytes;
      room.notify_all();
    }
    is_appending = false;
    room.notify_all();
  }

  void append(const Job& job) {
    try {
      if (job.failure) std::rethrow_exception(job.failure);
      if (job.encoded.error) throw Error(*job.encoded.error);
      if (const int64_t num_bytes = job.encoded.num_bytes(); num_bytes > max_record_bytes) {
        throw error_of(ErrorCode::unsupported,
                       "its record would have {} bytes, more than the limit of {}; raise the "
                       "limit, here and for what reads the data set",
                       num_bytes, max_record_bytes);
      }
    } catch (const Error& error) {
      if (is_out_of_memory(error)) throw;
      throw error.within({.record = job.number});
    }
    writer->append(job.encoded.record, job.encoded.stored);
  }

  // Waits until `is_ready`, a condition on what the mutex guards, and lets poll() end the wait.
  template <typename Condition>
  void wait_for_room(std::unique_lock<std::mutex>& lock, const Condition& is_ready) {
    if (!poll) {
      room.wait(lock, is_ready);
      return;
    }
    while (!room.wait_for(lock, kPollInterval, is_ready)) {
      lock.unlock();
      poll();
      lock.lock();
    }
  }

  void throw_failure() const {
    if (failure) std::rethrow_exception(failure);
  }

  const Schema schema;
  const CompressionOptions compression;
  const int64_t max_bytes_in_flight;
  const int64_t max_record_bytes;
  const uint64_t seed;
  const std::function<void()> poll;
  size_t max_jobs = 0;
  Destination claimed;
  std::optional<DatasetWriter> writer;  // used by the thread that appends

  std::mutex mutex;  // of what follows
  std::condition_variable to_do;
  std::condition_variable room;
  std::deque<std::unique_ptr<Job>> jobs;  // in order, those that are appended gone
  size_t num_begun = 0;                   // of `jobs`
  int64_t bytes_in_flight = 0;
  int64_t num_written = 0;
  bool is_appending = false;
  bool is_stopping = false;
  std::exception_ptr failure;

  const pid_t process = getpid();
  std::vector<std::thread> threads;  // last: they use everything above
};

SampleWriter::SampleWriter(const std::filesystem::path& destination, const std::string& split,
                           Schema schema, const SampleWriterOptions& options) {
  validate(options);
  validate(schema);
  if (const std::string fault = fault_of_split_name(split); !fault.empty()) {
    throw error_of(ErrorCode::invalid_argument, "a split cannot be called '{}', which {}", split,
                   fault);
  }
  static_cast<void>(RecordCompressor({.level = options.zstd_level}));
  refuse_unfinished(destination);
  try {
    impl_ = std::make_unique<Impl>(destination / split, split, std::move(schema), options);
  } catch (...) {
    throw current_error(destination);
  }
}

SampleWriter::~SampleWriter() {
  // In a process that was forked off there are no threads to end, and the files are the other's.
  if (impl_ != nullptr && impl_->process != getpid()) static_cast<void>(impl_.release());
}

const Schema& SampleWriter::schema() const noexcept {
  return impl_->schema;
}

int64_t SampleWriter::write(SetFields set_fields, int64_t num_bytes) {
  Impl& impl = *impl_;
  if (impl.process != getpid()) {
    throw error_at(
        impl.claimed.folder(), ErrorCode::invalid_argument,
        "this process was forked off the one that writes the data set; write from that one");
  }
  auto job = std::make_unique<Job>();
  job->num_bytes = num_bytes;
  job->set_fields = std::move(set_fields);
  std::unique_lock lock(impl.mutex);
  impl.wait_for_room(lock, [&] {
    return impl.failure || impl.jobs.empty() ||
           (impl.jobs.size() < impl.max_jobs &&
            impl.bytes_in_flight + num_bytes <= impl.max_bytes_in_flight);
  });
  impl.throw_failure();
  job->number = impl.num_written++;
  impl.bytes_in_flight += num_bytes;
  impl.jobs.push_back(std::move(job));
  impl.to_do.notify_one();
  return impl.num_written - 1;
}

SplitSummary SampleWriter::finish() {
  Impl& impl = *impl_;
  try {
    {
      std::unique_lock lock(impl.mutex);
      impl.wait_for_room(lock,
                         [&] { return impl.failure || (impl.jobs.empty() && !impl.is_appending); });
      impl.throw_failure();
    }
    impl.stop();
    impl.claimed.require_held();
    const Manifest manifest = impl.writer->finish();
    impl.claimed.commit();
    return {.split = manifest.split,
            .num_records = manifest.num_records(),
            .num_shards = std::ssize(manifest.shards),
            .file_bytes = manifest.file_bytes(),
            .fingerprint = manifest.fingerprint()};
  } catch (const Error&) {
    throw;
  } catch (const std::system_error&) {
    throw current_error(impl.claimed.folder());
  }
}

}  // namespace ffkit
