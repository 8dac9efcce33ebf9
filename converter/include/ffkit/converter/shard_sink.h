// ShardSink: a split that many processes write together, on one machine or many. For engines that
// run tasks, and run some of them twice: Ray, Spark, Dask, Slurm.
//
//   driver  ShardSink::begin() ── job() ──▶ tasks         commit(descriptions) ──▶ manifest.json
//   task 0  ShardTask ──▶ DST/train/shard-000000-00000-<attempt>.ffr, ... ──▶ description ─┐
//   task 1  ShardTask ──▶ DST/train/shard-000001-00000-<attempt>.ffr, ... ──▶ description ─┘
//
// A task may be attempted any number of times, one after another or at once: the shards of an
// attempt have names that no other has, and count only when commit() gets their description. So
// records are neither lost nor there twice, whatever was killed. The same samples in the same tasks
// give a data set with the same fingerprint.
//
// Readers refuse the split until commit() is done; other splits of the data set may be read
// meanwhile. What attempts have left that no description names is removed by commit(), or later by
// `ffconvert gc`. The destination is a folder that all machines see, or an address of a store.
// May change in any version (docs/stability.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/sample_writer.h>
#include <ffkit/converter/summary.h>
#include <ffkit/format/schema.h>

namespace ffkit {

// The driver's side. Not thread-safe.
class ShardSink {
 public:
  // Claims the split, as SampleWriter does, and begins a job. What another job has left unfinished
  // is removed. `options`: those that all tasks have. `job`: what new_job() has returned, for
  // engines that send it to the tasks before the driver begins; empty: a new one. Throws as
  // SampleWriter.
  static ShardSink begin(const std::filesystem::path& destination, const std::string& split,
                         const SampleWriterOptions& options = {}, std::string job = "");
  // The name of a job that there has not been.
  static std::string new_job();
  // The job `job` in another process than the one that began it, which has called leave() or has
  // ended. Throws Error(invalid_argument) where the split is not of that job, unless it is finished
  // already.
  static ShardSink take_up(const std::filesystem::path& destination, const std::string& split,
                           const std::string& job, const SampleWriterOptions& options = {});

  // abort(), unless commit() or leave() was called.
  ~ShardSink();
  ShardSink(ShardSink&&) noexcept;
  ShardSink& operator=(ShardSink&&) noexcept;

  // Of this job alone: 16 hex digits.
  [[nodiscard]] const std::string& job() const noexcept;

  // Makes a data set of what the tasks have described, ordered by task. A description that is given
  // twice counts once; of two attempts of one task, the first one counts. `num_tasks`: from 0 on,
  // each of as many tasks must be there; -1: any tasks. Where the same call has been made already,
  // does nothing. Throws Error(invalid_argument) for a task that is missing or of another job, for
  // schemas that differ, and when there is no sample; Error(corrupt) for a shard that is not there
  // as described. Blocks.
  SplitSummary commit(const std::vector<std::string>& descriptions, int64_t num_tasks = -1);

  // Removes what was written. Tasks that still run end with an error at their next shard.
  void abort();
  // Gives the claim back and leaves the rest as it is, for take_up().
  void leave();

 private:
  struct Impl;
  explicit ShardSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One attempt of a task. As SampleWriter in what it takes, how it is called and what it throws.
class ShardTask {
 public:
  // `options`: those of the sink. `task`: its number, from 0 to 99,999,999, the same for each
  // attempt. Throws Error(invalid_argument) also where the split is not of that job.
  ShardTask(const std::filesystem::path& destination, const std::string& split,
            const std::string& job, int64_t task, const Schema& schema,
            const SampleWriterOptions& options = {});
  // Without finish(), removes what was written.
  ~ShardTask();
  ShardTask(const ShardTask&) = delete;
  ShardTask& operator=(const ShardTask&) = delete;

  [[nodiscard]] const Schema& schema() const noexcept;
  int64_t write(SampleWriter::SetFields set_fields, int64_t num_bytes);

  // Waits until all shards are durable. Returns the description of this attempt for commit(): JSON,
  // about 200 bytes a shard. Nothing may be called after it. Blocks.
  std::string finish();

  // The description of a task that has no samples.
  static std::string describe_empty(const std::string& job, int64_t task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
