// DecodePool: the queue of a loader's chunks of samples, which the threads of DecodeArena work off
// in the order they were submitted. Threads with nothing to do are the helpers of the others.
//
// Thread-safe. `work` is called on the arena's threads and must not throw.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "decode/decode_arena.h"
#include "decode/decode_work.h"

namespace ffkit {

class DecodePool final : DecodeArena::Client, Helpers {
 public:
  // `worker` is the number of the decoding thread, 0 .. num_threads-1, and no other thread's at the
  // same time: an index for scratch memory. `helpers` are the other threads.
  using Work = std::function<void(int worker, Helpers& helpers, const SampleChunk& chunk)>;

  // At most `capacity` chunks wait at any time. Throws Error(io) when the system gives no more
  // threads.
  DecodePool(int num_threads, size_t capacity, Work work);
  // Drops what has not begun and waits for what has.
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  void submit(std::span<const SampleChunk> chunks);
  // Whether reads are in flight whose samples come soon: the threads then wait for them. Not at
  // first.
  void set_reading(bool is_reading);
  // Drops what has not begun and waits for what has. False when some is still being worked on at
  // `until`.
  bool cancel(std::chrono::steady_clock::time_point until);
  // Drops what has not begun. What has begun hangs: other threads take the place of its threads
  // until it ends.
  void give_up() noexcept;

 private:
  struct SharedWork {
    const Piece* piece = nullptr;
    int64_t count = 0;
    int64_t num_begun = 0;
    int64_t num_done = 0;
  };

  bool has_work() const override;
  void work(std::unique_lock<std::mutex>& lock) override;
  void share(int worker, int64_t count, const Piece& piece) override;
  int take_worker();
  void run_piece(std::unique_lock<std::mutex>& lock, int worker, SharedWork& work);

  const Work work_;
  DecodeArena& arena_;

  // The arena's mutex guards what follows.
  std::condition_variable idle_;         // nothing is being worked on
  std::condition_variable shared_done_;  // some SharedWork is done
  // With pieces not yet begun, oldest first; they lie on the stacks of share().
  std::vector<SharedWork*> shared_;
  std::vector<SampleChunk> waiting_;  // a ring, oldest first from first_
  size_t first_ = 0;
  size_t num_waiting_ = 0;
  bool is_reading_ = false;
  std::vector<bool> worker_is_taken_;
  size_t num_working_ = 0;   // as many workers are taken
  size_t num_given_up_ = 0;  // of num_working_
};

}  // namespace ffkit
