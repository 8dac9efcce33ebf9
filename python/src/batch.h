// A batch as an object of Python: what its arrays keep alive.
#pragma once

#include <unistd.h>

#include <optional>
#include <utility>

#include <ffkit/loader/batch.h>

namespace ffkit::python {

class PyBatch {
 public:
  explicit PyBatch(Batch batch) : batch_(std::move(batch)) {}
  ~PyBatch() {
    // A child of fork() must not give it back: the lock may be another thread's, which is not here.
    if (process_ != getpid()) static_cast<void>(new Batch(std::move(batch_)));
  }
  PyBatch(PyBatch&&) = delete;
  PyBatch& operator=(PyBatch&&) = delete;

  const Batch& batch() const { return batch_; }

 private:
  Batch batch_;
  const pid_t process_ = getpid();
};

}  // namespace ffkit::python
