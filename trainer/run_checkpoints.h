// The checkpoints of a run: what writes them, which of them is good, and when the next one is due.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/work_dir.h"
#include "distributed/communicator.h"
#include "files/safetensors.h"
#include "step/whole_state.h"

namespace ffkit {

// CheckpointWriter: writes checkpoints on a thread of its own while training goes on. One at a
// time: a second one waits for the first.
class CheckpointWriter {
 public:
  // Calls `job`, which writes a checkpoint, on that thread. Throws what the one before it failed
  // with.
  void write(std::function<void()> job);
  // Returns when nothing is being written any more; throws what the last one failed with.
  void wait();

 private:
  std::future<void> running_;  // waits when it ends
};

// GoodCheckpoint: which checkpoint of a run is good. Weights can be finite and still so large that
// nothing they compute is a number: a checkpoint is good once its weights have given a finite loss,
// in the step after it or in a validation.
class GoodCheckpoint {
 public:
  // The run goes on from `path`, the weights after `steps` steps of the run.
  void resumed(const std::filesystem::path& path, int64_t steps);
  // The run wrote `path`, or is about to.
  void written(const std::filesystem::path& path, int64_t steps);
  // The weights after `steps` steps gave a finite loss.
  void proven(int64_t steps);

  // Empty: none yet. It is to be kept, whatever else is deleted.
  const std::filesystem::path& path() const { return good_; }

  // For a run that has diverged: renames the newest checkpoint to *.not-finite if this run wrote it
  // and it is not good, so that a run that goes on begins with the good one. The end of a message,
  // which says what was done and which checkpoint is the last good one; may be empty. Call it when
  // nothing is being written. Throws Error(io).
  std::string put_aside();

 private:
  void update();

  std::filesystem::path last_, good_;
  int64_t last_steps_ = 0;
  int64_t proven_steps_ = -1;
  bool is_own_ = false;  // this run wrote last_
};

// RunCheckpoints: the checkpoints of one run: which is the last one, which is good, when the next
// one is due. They are written while training goes on. Each process of a run has one; all make the
// same calls in the same order, and rank 0's alone knows the work folder.
class RunCheckpoints {
 public:
  // Collective where `is_divided`: checkpoints are in parts then. `communicator` must outlive it.
  RunCheckpoints(const TrainOptions& options, Communicator& communicator, bool is_divided);

  // The run goes on from `checkpoint`.
  void resumed(const std::filesystem::path& checkpoint) { last_ = checkpoint; }
  // The run begins with step number `steps_done`, and the time up to the next checkpoint with it.
  void start(int64_t steps_done);
  // Whether rank 0 is to write one, by its clock and options.checkpoint_minutes.
  bool is_due() const;

  // Writes `state` with the tensors that `tensors` gives, unless it is the last one already; not
  // without a work folder, which rank 0 alone has. The state must be finite. Collective.
  void write(const std::optional<WorkDir>& work_dir, const CheckpointInfo& state,
             const WholeState& whole, const std::function<std::vector<NamedTensor>()>& tensors);
  // The next one takes the place of the last one, which was written before a validation.
  void replace_last() { replaced_ = last_; }
  // The weights after `steps` steps gave a finite loss.
  void proven(int64_t steps) { good_.proven(steps); }
  // Returns when nothing is being written any more; throws what the last one failed with.
  void wait() { writer_.wait(); }
  // As GoodCheckpoint::put_aside(), once nothing is being written any more.
  std::string put_aside();

  // Empty: there is none.
  const std::filesystem::path& last() const noexcept { return last_; }

 private:
  void write_part(const std::filesystem::path& path, const CheckpointInfo& state,
                  const WholeState& whole, const std::vector<NamedTensor>& tensors,
                  const std::function<void()>& clean_up);

  const TrainOptions options_;
  Communicator& communicator_;
  std::filesystem::path last_;
  std::filesystem::path replaced_;  // by the next one; empty: none
  GoodCheckpoint good_;
  std::chrono::steady_clock::time_point last_time_;
  // Among all processes, for the thread that writes checkpoints in parts; null without parts.
  const std::unique_ptr<Communicator> writers_;
  CheckpointWriter writer_;  // last: it ends before what it writes is destroyed
};

}  // namespace ffkit
