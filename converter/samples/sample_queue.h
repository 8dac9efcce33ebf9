// What all writers of a split from samples that come one after another have in common:
// SampleWriter, and the tasks of a ShardSink.
//
// SampleQueue: these samples, encoded by many threads, appended in their order.
//
//   write() ──▶ queue ──▶ set fields, encode, compress ──▶ append(), one by one
//   caller                many threads                     in the order of the calls
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ffkit/converter/sample_writer.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/schema.h>

#include "pack/packer.h"

namespace ffkit {

// Throws Error(invalid_argument) for a schema, an option or a split's name that cannot be.
void require_valid_split(const std::string& split, const Schema& schema,
                         const SampleWriterOptions& options);

// The manifest, without shards.
Manifest manifest_of_samples(const std::string& split, Schema schema,
                             const SampleWriterOptions& options);

class SampleQueue {
 public:
  // Called by one thread at a time, with no lock held.
  using Append = std::function<void(const EncodedSample&)>;

  // Starts the threads. `options` are valid. Of these: num_threads, zstd_level,
  // max_bytes_in_flight, max_record_bytes, seed and poll.
  SampleQueue(Schema schema, const SampleWriterOptions& options, Append append);
  // Ends the threads; what waits is not appended.
  ~SampleQueue();
  SampleQueue(const SampleQueue&) = delete;
  SampleQueue& operator=(const SampleQueue&) = delete;

  const Schema& schema() const { return schema_; }
  const CompressionOptions& compression() const { return compression_; }
  // Whether this process is the one that made it: one that was forked off has no threads.
  bool is_of_this_process() const;
  // Throws Error(invalid_argument) about `folder` where it is not.
  void require_this_process(const std::filesystem::path& folder) const;

  // As SampleWriter::write().
  int64_t write(SetFields set_fields, int64_t num_bytes);
  // Waits until all samples are appended, and ends the threads. Throws as write().
  void finish();

 private:
  struct Job {
    int64_t number = 0;
    int64_t num_bytes = 0;
    SetFields set_fields;
    EncodedSample encoded;
    std::exception_ptr failure;
    bool is_done = false;
  };

  void stop();
  void work();
  void append_done(std::unique_lock<std::mutex>& lock);
  void append(const Job& job) const;
  template <typename Condition>
  void wait_for_room(std::unique_lock<std::mutex>& lock, const Condition& is_ready);
  void throw_failure() const;

  const Schema schema_;
  const CompressionOptions compression_;
  const int64_t max_bytes_in_flight_;
  const int64_t max_record_bytes_;
  const uint64_t seed_;
  const std::function<void()> poll_;
  const Append append_;
  size_t max_jobs_ = 0;

  std::mutex mutex_;  // of what follows
  std::condition_variable to_do_;
  std::condition_variable room_;
  std::deque<std::unique_ptr<Job>> jobs_;  // in order, those that are appended gone
  size_t num_begun_ = 0;                   // of jobs_
  size_t num_jobs_to_wake_ = 0;            // who waits for room is woken when there are no more
  int64_t bytes_in_flight_ = 0;
  int64_t num_written_ = 0;
  bool is_appending_ = false;
  bool is_stopping_ = false;
  std::exception_ptr failure_;

  const pid_t process_;
  std::vector<std::thread> threads_;  // last: they use everything above
};

}  // namespace ffkit
