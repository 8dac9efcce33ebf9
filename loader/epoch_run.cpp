#include "epoch_run.h"

#include <fmt/format.h>

#include <exception>

#include <ffkit/format/error.h>

namespace ffkit {

EpochRun::EpochRun(LoaderParts& parts, int64_t epoch, int64_t start)
    : parts_(parts),
      epoch_(epoch),
      start_(start),
      num_steps_(num_batches_on_rank(parts.sampler, start)),
      queue_(parts.options.prefetch_batches, parts.options.batch_size),
      loop_(parts, queue_, epoch, start),
      io_thread_([this] { read_all(); }) {}

EpochRun::~EpochRun() {
  stop_ = true;
  parts_.io_wake.notify();
  io_thread_.join();
  parts_.decode_pool.cancel();
  parts_.buffers.reset();
  for (Batch::Slab* slab : queue_.close_all()) parts_.slabs->discard(slab);
}

void EpochRun::read_all() noexcept {
  try {
    loop_.run(stop_);
  } catch (...) {
    queue_.fail(std::current_exception());
  }
}

bool EpochRun::go_on_to(int64_t epoch) {
  if (!parts_.options.read_ahead_epochs || epoch != epoch_ + 1 || num_returned_ < num_steps_) {
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
  const int64_t max_held = parts_.options.held_batches;
  if (parts_.slabs->num_held() >= max_held) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} batches are held already; destroy one before the next or raise "
                            "held_batches, which is {}",
                            parts_.slabs->num_held(), max_held));
  }
  parts_.stats.num_ready_batches.fetch_add(queue_.num_complete(), std::memory_order_relaxed);
  const int64_t begin = now_ns();
  Batch::Slab* slab = queue_.take_front();
  parts_.stats.wait_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  Batch batch = parts_.slabs->hand_over(slab);
  parts_.io_wake.notify();
  ++num_returned_;
  parts_.stats.num_batches.fetch_add(1, std::memory_order_relaxed);
  parts_.stats.num_samples.fetch_add(batch.size(), std::memory_order_relaxed);
  parts_.stats.num_replaced.fetch_add(static_cast<int64_t>(batch.replacements().size()),
                                      std::memory_order_relaxed);
  return batch;
}

bool EpochRun::ready() const {
  return num_returned_ == num_steps_ || queue_.front_is_complete();
}

int64_t EpochRun::position() const {
  // A rank whose share of the last step is empty has done with it when it sees the end.
  const int64_t num_steps = at_end_ ? parts_.sampler.num_batches(start_) : num_returned_;
  return parts_.sampler.position_after(start_, num_steps);
}

}  // namespace ffkit
