#include "epoch_run.h"

#include <fmt/format.h>

#include <exception>

#include <ffkit/format/error.h>

namespace ffkit {

int64_t num_batches_on_rank(const Sampler& sampler, int64_t start) {
  const int64_t num_steps = sampler.num_batches(start);
  const SamplerOptions& options = sampler.options();
  if (options.tail != Tail::exact || num_steps == 0) return num_steps;
  const int64_t first_of_last =
      sampler.position_after(start, num_steps - 1) + options.rank * sampler.batch_size();
  return first_of_last < sampler.epoch_size() ? num_steps : num_steps - 1;
}

EpochRun::EpochRun(LoaderParts& parts, int64_t epoch, int64_t start)
    : parts_(parts),
      epoch_(epoch),
      start_(start),
      num_steps_(num_batches_on_rank(parts.sampler, start)),
      queue_(parts.options.prefetch_batches, parts.options.batch_size),
      loop_(parts, queue_, epoch, start, num_steps_),
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
  const int64_t begin = now_ns();
  Batch::Slab* slab = queue_.take_front();
  parts_.stats.wait_ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
  Batch batch = parts_.slabs->hand_over(slab);
  parts_.io_wake.notify();
  ++num_returned_;
  parts_.stats.num_batches.fetch_add(1, std::memory_order_relaxed);
  parts_.stats.num_samples.fetch_add(batch.size(), std::memory_order_relaxed);
  return batch;
}

int64_t EpochRun::position() const {
  // A rank whose share of the last step is empty has done with it when it sees the end.
  const int64_t num_steps = at_end_ ? parts_.sampler.num_batches(start_) : num_returned_;
  return parts_.sampler.position_after(start_, num_steps);
}

}  // namespace ffkit
