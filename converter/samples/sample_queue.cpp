#include "samples/sample_queue.h"

#include <unistd.h>

#include <chrono>
#include <optional>

#include <ffkit/base/compression.h>
#include <ffkit/base/machine.h>
#include <ffkit/base/version.h>

#include "base/machine/wait_check.h"
#include "base/make_error.h"
#include "format/dataset/manifest_text.h"

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

}  // namespace

SampleQueue::SampleQueue(Schema schema, const SampleWriterOptions& options, Append append)
    : schema_(std::move(schema)),
      compression_{.level = options.zstd_level},
      max_bytes_in_flight_(options.max_bytes_in_flight),
      max_record_bytes_(options.max_record_bytes),
      seed_(options.seed),
      poll_(options.poll),
      append_(std::move(append)),
      process_(getpid()) {
  const int num_threads = options.num_threads > 0 ? options.num_threads : usable_cores();
  max_jobs_ = kJobsPerThread * static_cast<size_t>(num_threads);
  try {
    for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

SampleQueue::~SampleQueue() {
  stop();
}

bool SampleQueue::is_of_this_process() const {
  return process_ == getpid();
}

void SampleQueue::require_this_process(const std::filesystem::path& folder) const {
  if (is_of_this_process()) return;
  throw error_at(
      folder, ErrorCode::invalid_argument,
      "this process was forked from the one that writes the data set; write from that process");
}

void SampleQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  to_do_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void SampleQueue::work() {
  std::optional<SampleEncoder> encoder;
  const WaitCheck check(ends_own_waits_once([this] {
    const std::lock_guard lock(mutex_);
    return is_stopping_;
  }));
  std::unique_lock lock(mutex_);
  for (;;) {
    to_do_.wait(lock, [this] { return is_stopping_ || num_begun_ < jobs_.size(); });
    if (is_stopping_) return;
    Job& job = *jobs_[num_begun_++];
    lock.unlock();
    try {
      if (!encoder) encoder.emplace(schema_, compression_, BadSamples::fail, seed_);
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

// Whoever ends the job that is next appends it, and those behind it that are done: one thread at a
// time.
void SampleQueue::append_done(std::unique_lock<std::mutex>& lock) {
  if (is_appending_) return;
  is_appending_ = true;
  while (!failure_ && !is_stopping_ && !jobs_.empty() && jobs_.front()->is_done) {
    const std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    --num_begun_;
    lock.unlock();
    std::exception_ptr problem;
    try {
      append(*job);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    if (problem) failure_ = problem;
    bytes_in_flight_ -= job->num_bytes;
    if (failure_ || jobs_.size() <= num_jobs_to_wake_) room_.notify_all();
  }
  is_appending_ = false;
  if (failure_ || jobs_.empty()) room_.notify_all();
}

void SampleQueue::append(const Job& job) const {
  try {
    if (job.failure) std::rethrow_exception(job.failure);
    if (job.encoded.error) throw Error(*job.encoded.error);
    if (const int64_t num_bytes = job.encoded.num_bytes(); num_bytes > max_record_bytes_) {
      throw error_of(ErrorCode::unsupported,
                     "the record of this sample would have {} bytes, more than the limit of {} "
                     "bytes; raise the limit, here and in all programs that read the data set",
                     num_bytes, max_record_bytes_);
    }
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;
    throw error.within({.record = job.number});
  }
  append_(job.encoded);
}

// Waits until `is_ready`, a condition on what the mutex guards, and lets poll() end the wait.
template <typename Condition>
void SampleQueue::wait_for_room(std::unique_lock<std::mutex>& lock, const Condition& is_ready) {
  if (!poll_) {
    room_.wait(lock, is_ready);
    return;
  }
  while (!room_.wait_for(lock, kPollInterval, is_ready)) {
    lock.unlock();
    poll_();
    lock.lock();
  }
}

void SampleQueue::throw_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

int64_t SampleQueue::write(SetFields set_fields, int64_t num_bytes) {
  auto job = std::make_unique<Job>();
  job->num_bytes = num_bytes;
  job->set_fields = std::move(set_fields);
  std::unique_lock lock(mutex_);
  // To be woken costs more than a small sample: once there are too many, half of them shall go.
  num_jobs_to_wake_ = jobs_.size() < max_jobs_ ? max_jobs_ : max_jobs_ / 2;
  wait_for_room(lock, [&] {
    return failure_ || jobs_.empty() ||
           (jobs_.size() < max_jobs_ && jobs_.size() <= num_jobs_to_wake_ &&
            bytes_in_flight_ + num_bytes <= max_bytes_in_flight_);
  });
  throw_failure();
  const int64_t number = num_written_++;
  job->number = number;
  bytes_in_flight_ += num_bytes;
  jobs_.push_back(std::move(job));
  lock.unlock();
  to_do_.notify_one();
  return number;
}

void SampleQueue::finish() {
  {
    std::unique_lock lock(mutex_);
    wait_for_room(lock, [&] { return failure_ || (jobs_.empty() && !is_appending_); });
    throw_failure();
  }
  stop();
}

void validate(const SampleWriterOptions& options) {
  validate(as_convert_options(options));
  if (!options.class_names.empty() && options.class_names.size() != options.classes.size()) {
    throw error_of(ErrorCode::invalid_argument,
                   "there are {} readable names for {} classes; give one name for each class, or "
                   "give no names",
                   options.class_names.size(), options.classes.size());
  }
}

void require_valid_split(const std::string& split, const Schema& schema,
                         const SampleWriterOptions& options) {
  validate(options);
  validate(schema);
  if (const std::string fault = fault_of_split_name(split); !fault.empty()) {
    throw error_of(ErrorCode::invalid_argument,
                   "a split cannot have the name '{}', because the name {}", split, fault);
  }
  static_cast<void>(RecordCompressor({.level = options.zstd_level}));
}

Manifest manifest_of_samples(const std::string& split, Schema schema,
                             const SampleWriterOptions& options) {
  Manifest manifest{.split = split,
                    .schema = std::move(schema),
                    .classes = options.classes,
                    .class_names = options.class_names,
                    .source = options.source,
                    .options = options.options,
                    .created_by = "ffkit " FFKIT_VERSION};
  manifest.options.emplace("order", to_string(Order::sequential));
  manifest.options["shard_bytes"] = std::to_string(options.shard_bytes);
  if (options.zstd_level != 0) {
    manifest.options["zstd_level"] = std::to_string(options.zstd_level);
    manifest.options["zstd_dictionary_bytes"] = "0";
  }
  return manifest;
}

}  // namespace ffkit
