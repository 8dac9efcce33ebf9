// DecodePool: the queue of a loader's chunks of samples, which the threads of DecodeArena work off in the order they were submitted. Threads
// with nothing to do help others with the parts of a sample.
//
// Thread-safe. `work` is called on the arena's threads and must not throw.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "batch/batch_queue.h"
#include "decode/decode_arena.h"

namespace ffkit {

// Some samples of a batch.
struct SampleChunk {
  static constexpr size_t kMaxSamples = 16;

  PendingBatch* batch = nullptr;
  size_t count = 0;
  std::array<int32_t, kMaxSamples> positions{};  // in the batch
};

class DecodePool final : DecodeArena::Client {
 public:
  // `slot` is 0 .. num_threads-1, and no other thread's at the same time: an index for scratch memory.
  using Work = std::function<void(int slot, const SampleChunk& chunk)>;
  using Part = std::function<void(int slot, int64_t index)>;

  // At most `capacity` chunks wait at any time. Throws Error(io) when the system gives no more threads.
  DecodePool(int num_threads, size_t capacity, Work work);
  // Drops what has not begun and waits for what has.
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  void submit(std::span<const SampleChunk> chunks);
  // Whether reads are in flight whose samples come soon: the threads then wait for them. Not at first.
  void set_reading(bool is_reading);
  // For `work`, with the slot it was given: calls part(slot, index) once for each index of 0 .. count-1, here and on threads that no
  // chunk waits for, and returns when all are done. `part` must not throw.
  void share(int slot, int64_t count, const Part& part);
  // Drops what has not begun and waits for what has. False when some is still being worked on at `until`.
  bool cancel(std::chrono::steady_clock::time_point until);
  // Drops what has not begun. What has begun hangs: other threads take the place of its threads until it ends.
  void give_up() noexcept;

 private:
  struct SharedWork {
    const Part* part = nullptr;
    int64_t count = 0;
    int64_t num_begun = 0;
    int64_t num_done = 0;
  };

  bool has_work() const override;
  void work(std::unique_lock<std::mutex>& lock) override;
  int take_slot();
  void run_part(std::unique_lock<std::mutex>& lock, int slot, SharedWork& work);

  const Work work_;
  DecodeArena& arena_;

  // The arena's mutex guards what follows.
  std::condition_variable idle_;         // nothing is being worked on
  std::condition_variable shared_done_;  // some SharedWork is done
  std::vector<SharedWork*>
      shared_;  // with parts not yet begun, oldest first; they lie on the stacks of share()
  std::vector<SampleChunk> waiting_;  // a ring, oldest first from first_
  size_t first_ = 0;
  size_t num_waiting_ = 0;
  bool is_reading_ = false;
  std::vector<bool> slot_is_taken_;
  size_t num_working_ = 0;   // as many slots are taken
  size_t num_given_up_ = 0;  // of num_working_
};

}  // namespace ffkit
