// WorkDir: the folder a training run writes to.
//
//   epoch-0001.safetensors ...                the checkpoint after each epoch; the newest
//                                             and the best are kept
//   epoch-0001.parts/ ...                     the same of a run whose processes share a
//                                             network, or the optimiser's state
//   epoch-0001-samples-000012800.safetensors  within the epoch after that, when 12,800 of
//                                             its samples were seen
//   metrics.jsonl                             one JSON object every few steps and after
//                                             each validation, see metrics_log.h
//   events.out.tfevents.*                     the same for TensorBoard, one file each time
//                                             the run was started
//   config.toml                               the options of the run as it was last
//                                             started, for --config
//
// Belongs to one run at a time, and to its rank 0. Not thread-safe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file/file_lock.h"

namespace ffkit {

// A checkpoint of one file, or the folder of one in parts.
struct CheckpointFile {
  int64_t epoch = 0;    // epochs done
  int64_t samples = 0;  // of the next one
  std::filesystem::path path;
};

// The checkpoints in `folder` by epoch; empty when there are none or no such folder. Throws
// Error(io).
std::vector<CheckpointFile> list_checkpoints(const std::filesystem::path& folder);

// `path` itself; "RUN/best" and "RUN/last" of a work folder RUN; or of a folder the newest
// checkpoint in it whose metadata can be read, else weights_in_folder(). Throws Error(not_found)
// when there is none. To look at what a checkpoint says: what reads its tensors chooses it.
std::filesystem::path resolve_checkpoint(const std::filesystem::path& path);

// Gets a sentence for the user.
using Say = std::function<void(const std::string&)>;
// Prints it on a line of its own; null: as a warning on stderr, for a run that goes by another
// checkpoint than it was given says so.
Say say_on(std::FILE* lines);

// The checkpoint that is read, whatever for. One whose contents are damaged is passed over for the
// one before it, and `say` gets a sentence on it. All other errors, such as one of the disk or of a
// newer version, are thrown.
struct ChosenCheckpoint {
  std::filesystem::path path;                       // empty: there is none
  std::vector<std::filesystem::path> damaged = {};  // that were passed over

  // Renames the damaged ones to *.damaged, so that they are not taken for the newest again. To be
  // called when nothing can be refused any more; where it cannot be done, it is said.
  void put_damaged_aside(const Say& say) const;
};
// The newest one in `folder` that is whole.
ChosenCheckpoint newest_whole_checkpoint(const std::filesystem::path& folder, const Say& say);
// As resolve_checkpoint(), but whole: of a work folder the newest one that is, else Error(corrupt).
// "RUN/best" needs no other checkpoint to be.
ChosenCheckpoint choose_checkpoint(const std::filesystem::path& path, const Say& say);

// Removes a checkpoint, of one file or in parts. Throws Error(io).
void remove_checkpoint(const std::filesystem::path& path);

// Keeps other trainings away from a work folder as long as it lives: a job that was put into the
// queue again while its first run still writes would mix its checkpoints with that run's. By
// flock(2) of the folder: nothing is left behind, not even a folder that it has made and that
// stayed empty. Where the file system has no locks, a file in the folder stands for one.
class WorkDirLock {
 public:
  // Makes the folder. Throws Error(io) when it cannot be made, Error(invalid_argument) when another
  // training holds it. A file of a process on another machine, which may be dead, keeps nobody
  // away: a job that was put into the queue again must go on. note() says it.
  explicit WorkDirLock(const std::filesystem::path& folder);
  ~WorkDirLock();
  WorkDirLock(const WorkDirLock&) = delete;
  WorkDirLock& operator=(const WorkDirLock&) = delete;

  // A sentence for the user, without the folder; empty when there is none.
  const std::string& note() const { return note_; }

 private:
  std::filesystem::path folder_;
  bool is_new_;
  FileLock lock_;
  ClaimFile claim_;
  std::string note_;
};

class WorkDir {
 public:
  // For a new run: makes the folder. Throws Error(invalid_argument) when it holds checkpoints or
  // metrics, Error(io) when it cannot be made. `may_have_metrics`: those of a run that was ended
  // before its first checkpoint.
  static WorkDir create(const std::filesystem::path& folder, bool may_have_metrics = false);
  // For a run that goes on from `checkpoint`. When that lies in `folder` it must be the newest
  // there (Error(invalid_argument)); otherwise as create().
  static WorkDir reopen(const std::filesystem::path& folder,
                        const std::filesystem::path& checkpoint);

  const std::filesystem::path& path() const { return folder_; }
  // `samples` > 0: within the epoch after `epoch`. `in_parts`: a folder (checkpoint_parts.h).
  std::filesystem::path checkpoint_path(int64_t epoch, int64_t samples = 0,
                                        bool in_parts = false) const;
  // Deletes checkpoints but for the newest `num_kept` (0: all are kept), that of `best_epoch` and
  // `kept`.
  void prune(int64_t num_kept, int64_t best_epoch, const std::filesystem::path& kept = {}) const;

 private:
  explicit WorkDir(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

}  // namespace ffkit
