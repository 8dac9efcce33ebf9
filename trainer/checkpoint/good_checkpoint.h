// GoodCheckpoint: which checkpoint of a run is good. Weights can be finite and still so large that
// nothing they compute is a number: a checkpoint is good once its weights have given a finite loss,
// in the step after it or in a validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ffkit {

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

}  // namespace ffkit
