// A batch as an object of Python: what its arrays keep alive.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <ffkit/loader/batch.h>

namespace ffkit::python {

class PyBatch {
 public:
  // Counts the bytes of batches that are copies.
  using Counter = std::shared_ptr<std::atomic<int64_t>>;

  explicit PyBatch(Batch batch, Counter copies = nullptr)
      : batch_(std::move(batch)), copies_(std::move(copies)) {
    if (copies_ != nullptr) *copies_ += num_bytes();
  }
  ~PyBatch() {
    if (copies_ != nullptr) *copies_ -= num_bytes();
    // A child of fork() must not give it back: the lock may be another thread's, which is not here.
    if (process_ != getpid()) static_cast<void>(new Batch(std::move(batch_)));
  }
  PyBatch(PyBatch&&) = delete;
  PyBatch& operator=(PyBatch&&) = delete;

  const Batch& batch() const { return batch_; }

 private:
  int64_t num_bytes() const {
    int64_t sum = 0;
    for (size_t i = 0; i < batch_.num_fields(); ++i) {
      sum += static_cast<int64_t>(batch_.field(i).num_bytes());
    }
    return sum;
  }

  Batch batch_;
  const Counter copies_;
  const pid_t process_ = getpid();
};

}  // namespace ffkit::python
