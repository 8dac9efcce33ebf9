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
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ffkit {

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

}  // namespace ffkit
