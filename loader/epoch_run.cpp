#include "epoch_run.h"

#include <exception>
#include <utility>

#include "base/make_error.h"
#include "threads/threads.h"

namespace ffkit {

EpochRun::EpochRun(LoaderParts& parts, int64_t epoch, int64_t start)
    : parts_(parts),
      epoch_(epoch),
      start_(start),
      num_steps_(num_batches_on_rank(parts.sampler, start)),
      queue_(parts.options.memory.prefetch_batches, parts.options.batch_size),
      loop_(parts, queue_, epoch, start),
      io_thread_(start_thread("the loader's I/O thread", [this] { read_all(); })) {}

EpochRun::~EpochRun() {
  if (!is_stopped_) stop(std::chrono::hours(24));
}

bool EpochRun::stop(std::chrono::nanoseconds limit) {
  if (is_stopped_) return true;
  const auto until = std::chrono::steady_clock::now() + limit;
  stop_ = true;
  parts_.io_wake.notify();
  if (io_thread_.joinable()) {
    if (io_end_.wait_until(until) != std::future_status::ready) return false;
    io_thread_.join();
  }
  // An engine that broke down leaves reads behind that the kernel may still be at.
  if (!parts_.decode_pool.cancel(until) || parts_.engine->num_in_flight() > 0) return false;
  parts_.buffers.reset();
  for (BatchSlab* slab : queue_.close_all()) parts_.slabs->discard(slab);
  is_stopped_ = true;
  return true;
}

void EpochRun::read_all() noexcept {
  try {
    loop_.run(stop_);
  } catch (...) {
    queue_.fail(std::current_exception());
  }
  io_ended_.set_value();
}

// Throws when something has gone on for too long.
void EpochRun::require_progress() {
  const auto work = parts_.watch.oldest();
  if (!work || now_ns() - work->since_ns < parts_.read_timeout().count()) return;
  // Seen twice: a process that was stopped for a while finds everything late, but goes on.
  if (std::exchange(late_since_ns_, work->since_ns) == work->since_ns) {
    throw parts_.hanging_error(*work);
  }
}

bool EpochRun::go_on_to(int64_t epoch) {
  if (stop_ || !parts_.options.io.read_ahead_epochs || epoch - 1 != epoch_ ||
      num_returned_ < num_steps_) {
    return false;
  }
  epoch_ = epoch;
  start_ = 0;
  num_steps_ = num_batches_on_rank(parts_.sampler, 0);
  num_returned_ = 0;
  at_end_ = false;
  return true;
}

std::optional<Batch> EpochRun::next() {
  if (num_returned_ == num_steps_) {
    at_end_ = true;
    return std::nullopt;
  }
  require_place_for_batch();
  parts_.stats.num_ready_batches.fetch_add(queue_.num_complete(), std::memory_order_relaxed);
  while (!wait_for(std::chrono::hours(1))) {
  }
  BatchSlab* slab = queue_.take_front();
  Batch batch = parts_.slabs->hand_over(slab);
  parts_.io_wake.notify();
  ++num_returned_;
  parts_.stats.num_batches.fetch_add(1, std::memory_order_relaxed);
  parts_.stats.num_samples.fetch_add(batch.size(), std::memory_order_relaxed);
  parts_.stats.num_replaced.fetch_add(static_cast<int64_t>(batch.replacements().size()),
                                      std::memory_order_relaxed);
  parts_.stats.num_left_out.fetch_add(static_cast<int64_t>(batch.left_out().size()),
                                      std::memory_order_relaxed);
  return batch;
}

bool EpochRun::wait_for(std::chrono::nanoseconds limit) {
  if (ready()) return true;
  require_place_for_batch();
  const int64_t begin = now_ns();
  const auto look =
      std::min(parts_.read_timeout() / 4, std::chrono::nanoseconds(std::chrono::seconds(1)));
  bool is_over = false;
  auto left = limit;
  while (!is_over && left.count() > 0) {
    is_over = queue_.wait_for_front(std::min(look, left));
    if (!is_over) require_progress();
    left = limit - std::chrono::nanoseconds(now_ns() - begin);
  }
  parts_.stats.wait_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  return is_over;
}

void EpochRun::require_place_for_batch() const {
  const int64_t max_held = parts_.options.memory.held_batches;
  if (parts_.slabs->num_held() < max_held) return;
  throw error_of(ErrorCode::invalid_argument,
                 "the program already holds {} batches, but held_batches is {}; destroy a batch, "
                 "or give a larger held_batches",
                 parts_.slabs->num_held(), max_held);
}

int64_t EpochRun::position() const {
  // A rank whose share of the last step is empty has done with it when it sees the end.
  const int64_t num_steps = at_end_ ? parts_.sampler.num_batches(start_) : num_returned_;
  return parts_.sampler.position_after(start_, num_steps);
}

}  // namespace ffkit
