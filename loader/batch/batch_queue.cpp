#include "batch/batch_queue.h"

#include <utility>

namespace ffkit {

void PendingBatch::replace_sample(Replacement replacement, int64_t record_index, int32_t source) {
  std::lock_guard lock(queue->mutex_);
  const auto at = static_cast<size_t>(replacement.index_in_batch);
  slab->record_indices[at] = record_index;
  slab->sources[at] = source;
  slab->replacements.push_back(std::move(replacement));
}

void PendingBatch::leave_out(LeftOut sample) {
  std::lock_guard lock(queue->mutex_);
  slab->left_out.push_back(std::move(sample));
}

void PendingBatch::fail_sample(int64_t index_in_batch, std::exception_ptr failure) {
  std::lock_guard lock(queue->mutex_);
  if (first_failed >= 0 && first_failed < index_in_batch) return;
  first_failed = index_in_batch;
  error = std::move(failure);
}

bool PendingBatch::finish(int64_t count) {
  return num_left.fetch_sub(count, std::memory_order_acq_rel) == count;
}

void PendingBatch::complete() {
  std::lock_guard lock(queue->mutex_);
  is_complete = true;
  ++queue->num_complete_;
  queue->completed_.notify_one();
}

BatchQueue::BatchQueue(int64_t depth, int64_t batch_size) : batches_(static_cast<size_t>(depth)) {
  for (PendingBatch& batch : batches_) {
    batch.queue = this;
    batch.samples.reserve(batch_size);
  }
}

PendingBatch* BatchQueue::open() {
  std::lock_guard lock(mutex_);
  if (num_opened_ - num_taken_ == std::ssize(batches_)) return nullptr;
  PendingBatch& batch = at(num_opened_++);
  batch.is_complete = false;
  batch.first_failed = -1;
  batch.error = nullptr;
  return &batch;
}

void BatchQueue::fail(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  error_ = std::move(error);
  completed_.notify_one();
}

BatchSlab* BatchQueue::take_front() {
  std::unique_lock lock(mutex_);
  PendingBatch& batch = at(num_taken_);
  completed_.wait(lock, [this] { return front_is_over(); });
  if (num_opened_ == num_taken_ || !batch.is_complete) std::rethrow_exception(error_);
  if (batch.error != nullptr) std::rethrow_exception(batch.error);
  ++num_taken_;
  --num_complete_;
  BatchSlab* slab = std::exchange(batch.slab, nullptr);
  return slab;
}

bool BatchQueue::front_is_over() const {
  return error_ != nullptr || (num_opened_ > num_taken_ && at(num_taken_).is_complete);
}

bool BatchQueue::front_is_complete() const {
  std::lock_guard lock(mutex_);
  return front_is_over();
}

bool BatchQueue::wait_for_front(std::chrono::nanoseconds limit) {
  std::unique_lock lock(mutex_);
  return completed_.wait_for(lock, limit, [this] { return front_is_over(); });
}

int64_t BatchQueue::num_complete() const {
  std::lock_guard lock(mutex_);
  return num_complete_;
}

std::vector<BatchSlab*> BatchQueue::close_all() {
  std::lock_guard lock(mutex_);
  std::vector<BatchSlab*> slabs;
  for (PendingBatch& batch : batches_) {
    if (batch.slab != nullptr) slabs.push_back(std::exchange(batch.slab, nullptr));
  }
  num_taken_ = num_opened_;
  num_complete_ = 0;
  return slabs;
}

}  // namespace ffkit
