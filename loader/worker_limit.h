// WorkerLimit: makes TBB willing to run as many threads as all decoding pools of the process together ask for.
//
// TBB has one worker fewer than the process has cores, for all arenas together, since it counts on the caller's help; a loader's
// consumer sleeps in next() instead. The limit belongs to the process (tbb::global_control takes the smallest of all requests,
// so every pool asking for itself would limit the others): hence one request for all, kept while any pool lives. Thread-safe.
#pragma once

namespace ffkit {

class WorkerLimit {
 public:
  // Adds `num_threads` to what may run, as long as the object lives.
  explicit WorkerLimit(int num_threads);
  ~WorkerLimit();
  WorkerLimit(const WorkerLimit&) = delete;
  WorkerLimit& operator=(const WorkerLimit&) = delete;

 private:
  const int num_threads_;
};

}  // namespace ffkit
