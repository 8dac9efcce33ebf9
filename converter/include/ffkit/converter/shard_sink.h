// ShardSink: many processes on one or many machines write a split together. For engines that run
// tasks, some of them twice: Ray, Spark, Dask, Slurm.
//
//   driver  ShardSink::begin() ── job() ──▶ tasks         commit(descriptions) ──▶ manifest.json
//   task 0  ShardTask ──▶ DST/train/shard-000000-00000-<attempt>.ffr, ... ──▶ description ─┐
//   task 1  ShardTask ──▶ DST/train/shard-000001-00000-<attempt>.ffr, ... ──▶ description ─┘
//
// A task may run any number of times, one after another or at once. The shards of each attempt have
// unique names, and count only if commit() gets their description. So no record is lost or
// duplicated if attempts are killed. The same samples in the same tasks give the same fingerprint.
//
// Readers refuse the split until commit() is done; other splits may be read meanwhile. commit(), or
// later `ffconvert gc`, removes files that no description names. The destination is a folder that
// all machines see, or an address of a store.
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
  // Claims the split, like SampleWriter, and begins a job. Removes unfinished files of another job.
  // `options`: the same for all tasks. `job`: a result of new_job(), for engines that send it to
  // the tasks before the driver begins; empty: a new one. Throws like SampleWriter.
  static ShardSink begin(const std::filesystem::path& destination, const std::string& split,
                         const SampleWriterOptions& options = {}, std::string job = "");
  // The name of a job that there has not been.
  static std::string new_job();
  // Continues the job `job` in another process; the process that began it has called leave() or
  // ended. Throws Error(invalid_argument) if the split is not of that job, unless it is finished.
  static ShardSink take_up(const std::filesystem::path& destination, const std::string& split,
                           const std::string& job, const SampleWriterOptions& options = {});

  // abort(), unless commit() or leave() was called.
  ~ShardSink();
  ShardSink(ShardSink&&) noexcept;
  ShardSink& operator=(ShardSink&&) noexcept;

  // Unique for this job: 16 hex digits.
  [[nodiscard]] const std::string& job() const noexcept;

  // Completes the split from the descriptions of the tasks, ordered by task. Duplicate descriptions
  // count once; of two attempts of a task, the first one counts. `num_tasks`: tasks 0 ..
  // num_tasks-1 must be there; -1: any tasks. A second, equal call does nothing. Throws
  // Error(invalid_argument) for a task that is missing or of another job, for different schemas,
  // and without samples; Error(corrupt) for a shard that does not match its description. Blocks.
  SplitSummary commit(const std::vector<std::string>& descriptions, int64_t num_tasks = -1);

  // Removes what was written. Tasks that still run end with an error at their next shard.
  void abort();
  // Releases the claim and changes nothing else, for take_up().
  void leave();

 private:
  struct Impl;
  explicit ShardSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One attempt of a task. Arguments, calls and errors are those of SampleWriter.
class ShardTask {
 public:
  // `options`: those of the sink. `task`: its number, 0 .. 99,999,999, the same for each attempt.
  // Also throws Error(invalid_argument) if the split is not of that job.
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
  // about 200 bytes per shard. Call nothing after it. Blocks.
  std::string finish();

  // The description of a task that has no samples.
  static std::string describe_empty(const std::string& job, int64_t task);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
