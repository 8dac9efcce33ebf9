// CheckpointWriter: writes checkpoints on a thread of its own while training goes on. One at a
// time: a second one waits for the first.
#pragma once

#include <filesystem>
#include <functional>
#include <future>

#include "files/safetensors.h"

namespace ffkit {

class CheckpointWriter {
 public:
  ~CheckpointWriter();

  // Writes `contents` to `path` atomically, then calls `done` on that thread. Throws what the
  // checkpoint before it failed with.
  void write(std::filesystem::path path, SafeTensors contents, std::function<void()> done);
  // The same of a checkpoint that `job` writes.
  void write(std::function<void()> job);
  // Returns when nothing is being written any more; throws what the last one failed with.
  void wait();

 private:
  std::future<void> running_;
};

}  // namespace ffkit
