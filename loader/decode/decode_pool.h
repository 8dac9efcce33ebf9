// DecodePool: the queue of a loader's chunks of samples, which the threads of DecodeArena work off
// in the order they were submitted. Threads with nothing to do are the helpers of the others.
//
// Thread-safe. `work` is called on the arena's threads and must not throw.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace ffkit {

// What a decoding thread is given: some samples of a batch, and the threads that may help it.

// Threads with nothing to do that take over pieces of what a decoding thread is at.
// DecodePool has them.
class Helpers {
 public:
  // `worker` is that of the thread that runs the piece.
  using Piece = std::function<void(int worker, int64_t index)>;

  // Called by the decoding thread `worker`: calls piece(its worker, index) once for each index of 0
  // .. count-1, here and on threads that no chunk waits for, and returns when all are done. Pieces
  // begin in the order of their indices. `piece` must not throw.
  virtual void share(int worker, int64_t count, const Piece& piece) = 0;

 protected:
  ~Helpers() = default;
};

struct PendingBatch;

// Some samples of a batch, which one thread decodes one after the other.
struct SampleChunk {
  static constexpr size_t kMaxSamples = 16;

  PendingBatch* batch = nullptr;
  size_t count = 0;
  std::array<int32_t, kMaxSamples> indices_in_batch{};
};

// DecodeArena: the threads that decode. They are TBB's, in one arena for all loaders of the
// process, which is as large as the largest num_threads of these loaders.
//
//   wake() ── enqueue ──▶ drain: does the clients' work, in turn
//                                lingers for 2 ms when there is none
//                                and nothing is being read; ends
//
// At most as many drains run as the arena has threads, so loaders that work at the same time share
// them. When a drain has ended, its thread is TBB's again. In a child of fork(), and where TBB
// gives no threads because tasks of others hold them, threads of the arena's own take their place.
//
// Thread-safe.
class DecodeArena {
 public:
  // Somebody with work. The members are called with the arena's mutex held.
  class Client {
   public:
    // Whether a further thread could begin something.
    virtual bool has_work() const = 0;
    // Precondition: has_work(). Works with the mutex released. Returns when nothing is left, or
    // when others_have_work().
    virtual void work(std::unique_lock<std::mutex>& lock) = 0;

   protected:
    ~Client() = default;
  };

  // The arena of this process. A child of fork() has another one.
  static DecodeArena& of_process();
  DecodeArena(const DecodeArena&) = delete;
  DecodeArena& operator=(const DecodeArena&) = delete;

  // From now on the arena has at least `num_threads` threads. Blocks until they run. Throws
  // Error(io) when the system gives no more threads.
  void add(Client& client, int num_threads);
  // Precondition: `client` has no work, and none of its work is going on.
  void remove(Client& client);
  // `num_threads` threads hang in the work of a client. They no longer count towards the limit;
  // replacement threads start, until the others are taken_back().
  void give_up(int num_threads) noexcept;

  // Guards the clients' work as well.
  std::mutex& mutex() { return mutex_; }
  // Lets threads look at `count` things to do that have just come. Releases the mutex. Throws
  // Error(io) when no thread is there to work.
  void wake(std::unique_lock<std::mutex>& lock, size_t count);
  // Whether a client other than `client` has work. With the mutex held.
  bool others_have_work(const Client& client) const;
  // One client more, or less, reads what will be work soon: meanwhile drains linger without end.
  // With the mutex held.
  void count_reader(int change);
  // One of the threads that were given up has returned. With the mutex held.
  void take_back();
  // Threads that are taken from TBB, for tests.
  int num_running();

 private:
  struct Tbb;
  struct Member {
    Client* client;
    int num_threads;
  };

  explicit DecodeArena(bool uses_tbb);
  ~DecodeArena();

  void drain_in_tbb();
  void drain_on_own_thread();
  // False when there is nothing, nothing is being read, and that for a time.
  bool linger(std::unique_lock<std::mutex>& lock);
  void end_lingering();
  bool has_work() const;
  Client* next_with_work();
  void start(std::unique_lock<std::mutex>& lock, int num_drains);
  int wanted_threads() const;
  void fit();
  bool fit_tbb(int num_threads);
  bool all_run_at_once(int num_threads);
  void forget(const Client& client) noexcept;
  void end_own_threads();

  const pid_t process_;
  const std::unique_ptr<Tbb> tbb_;

  std::mutex setup_mutex_;  // guards what follows; taken before mutex_
  int num_proven_ = 0;      // threads that TBB is known to have
  std::vector<std::thread> own_threads_;

  std::mutex mutex_;                 // guards what follows
  std::condition_variable arrived_;  // work, or the end
  std::condition_variable all_run_;  // as many drains as num_wanted_
  bool uses_tbb_;
  std::vector<Member> members_;  // whose turn it is first
  int limit_ = 0;                // of num_started_
  int num_given_up_ = 0;
  int num_started_ = 0;  // drains, running or about to
  int num_running_ = 0;
  int num_lingering_ = 0;
  // of these: on their way to work; too many where they found none, so that a drain too many starts
  int num_notified_ = 0;
  int num_reading_ = 0;  // clients
  int num_wanted_ = 0;   // so many must run at once before any ends
  bool own_threads_end_ = false;
};

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
