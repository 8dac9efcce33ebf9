#include "decode/decode_pool.h"

#include <algorithm>
#include <utility>

namespace ffkit {
namespace {

// Where this thread worked last: its scratch memory may still be in the caches of the core.
thread_local size_t last_worker = 0;

}  // namespace

DecodePool::DecodePool(int num_threads, size_t capacity, Work work)
    : work_(std::move(work)),
      arena_(DecodeArena::of_process()),
      waiting_(capacity),
      worker_is_taken_(num_threads) {
  arena_.add(*this, num_threads);
}

DecodePool::~DecodePool() {
  set_reading(false);
  {
    std::unique_lock lock(arena_.mutex());
    num_waiting_ = 0;
    idle_.wait(lock, [this] { return num_working_ == 0; });
  }
  arena_.remove(*this);
}

void DecodePool::submit(std::span<const SampleChunk> chunks) {
  std::unique_lock lock(arena_.mutex());
  for (const SampleChunk& chunk : chunks) {
    waiting_[(first_ + num_waiting_++) % waiting_.size()] = chunk;
  }
  arena_.wake(lock, std::min(num_waiting_, worker_is_taken_.size() - num_working_));
}

void DecodePool::set_reading(bool is_reading) {
  std::lock_guard lock(arena_.mutex());
  if (is_reading == is_reading_) return;
  is_reading_ = is_reading;
  arena_.count_reader(is_reading ? 1 : -1);
}

void DecodePool::share(int worker, int64_t count, const Piece& piece) {
  SharedWork work{.piece = &piece, .count = count};
  std::unique_lock lock(arena_.mutex());
  if (count > 1) {
    shared_.push_back(&work);
    const size_t num_others = worker_is_taken_.size() - num_working_;
    arena_.wake(lock, std::min(num_others, static_cast<size_t>(count - 1)));
    lock.lock();
  }
  while (work.num_begun < count) run_piece(lock, worker, work);
  shared_done_.wait(lock, [&work] { return work.num_done == work.count; });
}

// Precondition: not all have begun.
void DecodePool::run_piece(std::unique_lock<std::mutex>& lock, int worker, SharedWork& work) {
  const int64_t index = work.num_begun++;
  if (work.num_begun == work.count) std::erase(shared_, &work);
  lock.unlock();
  (*work.piece)(worker, index);
  lock.lock();
  if (++work.num_done == work.count) shared_done_.notify_all();
}

bool DecodePool::cancel(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(arena_.mutex());
  num_waiting_ = 0;
  return idle_.wait_until(lock, until, [this] { return num_working_ == 0; });
}

void DecodePool::give_up() noexcept {
  size_t num_stuck = 0;
  set_reading(false);
  {
    std::lock_guard lock(arena_.mutex());
    num_waiting_ = 0;
    num_stuck = num_working_ - num_given_up_;
    num_given_up_ = num_working_;
  }
  arena_.give_up(static_cast<int>(num_stuck));
}

bool DecodePool::has_work() const {
  return (num_waiting_ > 0 || !shared_.empty()) && num_working_ < worker_is_taken_.size();
}

int DecodePool::take_worker() {
  if (last_worker >= worker_is_taken_.size() || worker_is_taken_[last_worker]) {
    const auto free = std::find(worker_is_taken_.begin(), worker_is_taken_.end(), false);
    last_worker = static_cast<size_t>(free - worker_is_taken_.begin());
  }
  worker_is_taken_[last_worker] = true;
  ++num_working_;
  return static_cast<int>(last_worker);
}

void DecodePool::work(std::unique_lock<std::mutex>& lock) {
  const int worker = take_worker();
  while (num_waiting_ > 0 || !shared_.empty()) {
    if (num_waiting_ > 0) {
      const SampleChunk chunk = waiting_[first_];
      first_ = (first_ + 1) % waiting_.size();
      --num_waiting_;
      lock.unlock();
      work_(worker, *this, chunk);
      lock.lock();
    } else {
      run_piece(lock, worker, *shared_.front());
    }
    if (arena_.others_have_work(*this)) break;
  }
  worker_is_taken_[worker] = false;
  if (num_given_up_ > 0) {
    --num_given_up_;
    arena_.take_back();
  }
  if (--num_working_ == 0) idle_.notify_all();
}

}  // namespace ffkit
