#include "decode/decode_pool.h"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#if __has_include(<tbb/version.h>)
#include <tbb/info.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <latch>
#include <string>
#include <system_error>
#include <utility>

#include "threads/threads.h"

namespace ffkit {
namespace {

// Longer than the usual pause between two reads that complete, so that a thread is not given back
// and woken again each time. Shorter than anyone waits for TBB's threads.
constexpr auto kLinger = std::chrono::milliseconds(2);
// TBB starts a thread in microseconds, or not at all.
constexpr auto kStartLimit = std::chrono::seconds(1);

// Never destroyed: drains may run until the process ends.
std::atomic<DecodeArena*> arena_of_process{nullptr};

[[maybe_unused]] bool has_several_numa_nodes() {
  namespace fs = std::filesystem;
  int num_nodes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    num_nodes += name.starts_with("node") && name.find_first_of("0123456789") == 4 ? 1 : 0;
  }
  return num_nodes > 1;
}

#if __has_include(<tbb/version.h>)
int default_threads() {
  return tbb::info::default_concurrency();
}

std::shared_ptr<tbb::task_arena> make_arena(int num_threads) {
  tbb::task_arena::constraints out;
  out.set_max_concurrency(num_threads);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Sanitizers refuse the way in which TBB opens libtbbbind, which it does for this alone. TBB
  // names the nodes whose processors this process may use.
  if (has_several_numa_nodes()) {
    const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
    if (nodes.size() == 1) out.set_numa_id(nodes.front());
  }
#endif
  return std::make_shared<tbb::task_arena>(out, 0U);
}
#else  // TBB 2020, which knows no nodes
int default_threads() {
  return tbb::this_task_arena::max_concurrency();
}

std::shared_ptr<tbb::task_arena> make_arena(int num_threads) {
  return std::make_shared<tbb::task_arena>(num_threads, 0U);
}
#endif

std::thread start_decoding_thread(int index, int num_threads, void (*run)(void*), void* argument) {
  return start_thread(fmt::format("decoding thread {} of {}", index + 1, num_threads),
                      [run, argument] { run(argument); });
}

// TBB ends the process when it cannot start a thread, so it is tried before.
void require_startable(int num_there, int num_threads) {
  std::latch all_are_started(1);
  std::vector<std::thread> threads;
  std::exception_ptr error;
  try {
    threads.reserve(num_threads);
    for (int i = num_there; i < num_threads; ++i) {
      threads.push_back(start_decoding_thread(
          i, num_threads, [](void* latch) { static_cast<std::latch*>(latch)->wait(); },
          &all_are_started));
    }
  } catch (...) {
    error = std::current_exception();
  }
  all_are_started.count_down();
  for (std::thread& thread : threads) thread.join();
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace

struct DecodeArena::Tbb {
  // Guarded by mutex_. Once made it stays, and with it TBB's threads, asleep.
  std::shared_ptr<tbb::task_arena> arena;
  // Guarded by setup_mutex_.
  int arena_threads = 0;
  int limit_threads = 0;
  std::unique_ptr<tbb::global_control> limit;  // null while there is no client
};

DecodeArena::DecodeArena(bool uses_tbb)
    : process_(getpid()), tbb_(std::make_unique<Tbb>()), uses_tbb_(uses_tbb) {}
DecodeArena::~DecodeArena() = default;

DecodeArena& DecodeArena::of_process() {
  DecodeArena* arena = arena_of_process.load();
  while (arena == nullptr || arena->process_ != getpid()) {
    // After fork() the threads are the parent's, TBB's as well. The parent's arena stays as it is:
    // its mutex may be locked.
    auto* made = new DecodeArena(arena == nullptr);
    if (arena_of_process.compare_exchange_strong(arena, made)) return *made;
    delete made;
  }
  return *arena;
}

void DecodeArena::add(Client& client, int num_threads) {
  std::lock_guard setup(setup_mutex_);
  {
    std::lock_guard lock(mutex_);
    members_.push_back({&client, num_threads});
  }
  try {
    fit();
  } catch (...) {
    forget(client);
    throw;
  }
}

void DecodeArena::remove(Client& client) {
  std::lock_guard setup(setup_mutex_);
  forget(client);
}

void DecodeArena::forget(const Client& client) noexcept {
  {
    std::lock_guard lock(mutex_);
    std::erase_if(members_, [&](const Member& member) { return member.client == &client; });
  }
  try {
    fit();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the others go on with the threads that are there
  }
}

void DecodeArena::give_up(int num_threads) noexcept {
  std::lock_guard setup(setup_mutex_);
  {
    std::lock_guard lock(mutex_);
    num_given_up_ += num_threads;
  }
  try {
    fit();
  } catch (...) {  // NOLINT(bugprone-empty-catch): as above
  }
}

void DecodeArena::take_back() {
  --num_given_up_;
  --limit_;
}

// What the largest client needs, and the threads that hang. With the mutex held.
int DecodeArena::wanted_threads() const {
  int most = 0;
  for (const Member& member : members_) most = std::max(most, member.num_threads);
  return most > 0 ? most + num_given_up_ : most;
}

// Makes the arena as large as its clients need it. Throws Error(io) where the system gives no more
// threads.
void DecodeArena::fit() {
  int limit = 0;
  {
    std::lock_guard lock(mutex_);
    limit = wanted_threads();
    // In an arena that has no thread left, a drain would wait for another one to end.
    limit_ = uses_tbb_ ? std::min(limit, tbb_->arena_threads) : limit;
  }
  if (limit == 0) {
    tbb_->limit.reset();
    tbb_->limit_threads = 0;
    end_own_threads();
    return;
  }
  if (uses_tbb_ && !fit_tbb(limit)) {
    std::lock_guard lock(mutex_);
    uses_tbb_ = false;
    limit_ = wanted_threads();
    num_started_ = num_running_;  // what begins after this returns at once
  }
  if (uses_tbb_) return;
  while (std::ssize(own_threads_) < limit) {
    own_threads_.push_back(start_decoding_thread(
        static_cast<int>(own_threads_.size()), limit,
        [](void* arena) { static_cast<DecodeArena*>(arena)->drain_on_own_thread(); }, this));
  }
}

// Returns false when TBB does not give as many threads.
bool DecodeArena::fit_tbb(int num_threads) {
  if (num_threads > num_proven_) require_startable(num_proven_, num_threads);
  if (tbb_->limit_threads != num_threads) {
    // TBB takes the smallest limit of those alive, so a process has one for all loaders. It is a
    // thread more than TBB's own: tasks that wait for a batch on all of TBB's usual threads leave
    // one to make it.
    const int most = std::max(num_threads, default_threads());
    tbb_->limit = std::make_unique<tbb::global_control>(
        tbb::global_control::max_allowed_parallelism, static_cast<size_t>(most) + 1);
    tbb_->limit_threads = num_threads;
  }
  if (tbb_->arena_threads < num_threads) {
    // Drains in the one before it, if there is one, end there.
    auto arena = make_arena(num_threads);
    std::lock_guard lock(mutex_);
    tbb_->arena.swap(arena);
    tbb_->arena_threads = num_threads;
    limit_ = wanted_threads();
  }
  if (num_threads > num_proven_) {
    if (!all_run_at_once(num_threads)) return false;
    num_proven_ = num_threads;
  }
  return true;
}

bool DecodeArena::all_run_at_once(int num_threads) {
  std::unique_lock lock(mutex_);
  num_wanted_ = num_threads;
  const int num_more = std::max(num_threads - num_started_, 0);
  start(lock, num_more);
  lock.lock();
  const bool all_run =
      all_run_.wait_for(lock, kStartLimit, [this] { return num_running_ >= num_wanted_; });
  num_wanted_ = 0;
  return all_run;
}

// Releases the mutex, which `lock` holds.
void DecodeArena::start(std::unique_lock<std::mutex>& lock, int num_drains) {
  num_started_ += num_drains;
  const std::shared_ptr<tbb::task_arena> arena = num_drains > 0 ? tbb_->arena : nullptr;
  lock.unlock();
  int num_enqueued = 0;
  try {
    for (; num_enqueued < num_drains; ++num_enqueued) {
      arena->enqueue([] { arena_of_process.load()->drain_in_tbb(); });
    }
  } catch (...) {
    lock.lock();
    num_started_ -= num_drains - num_enqueued;
    const bool is_served = num_started_ > 0;
    lock.unlock();
    if (!is_served) throw;
  }
}

void DecodeArena::wake(std::unique_lock<std::mutex>& lock, size_t count) {
  const auto num_things = static_cast<int>(std::min(count, static_cast<size_t>(limit_)));
  const int num_to_notify = std::min(num_things, num_lingering_);
  // A thread that comes for what came before may hang in it, so it is not counted on for this.
  const int num_free = std::clamp(num_lingering_ - num_notified_, 0, num_things);
  num_notified_ += num_free;
  const int num_to_start = uses_tbb_ ? std::min(num_things - num_free, limit_ - num_started_) : 0;
  start(lock, std::max(num_to_start, 0));
  for (int i = 0; i < num_to_notify; ++i) arrived_.notify_one();
}

void DecodeArena::drain_in_tbb() {
  std::unique_lock lock(mutex_);
  if (!uses_tbb_) return;
  ++num_running_;
  if (num_running_ >= num_wanted_) all_run_.notify_all();
  while (num_started_ <= limit_) {
    if (Client* client = next_with_work()) {
      client->work(lock);
    } else if (!linger(lock) && num_wanted_ == 0) {
      break;
    }
  }
  --num_running_;
  --num_started_;
}

bool DecodeArena::linger(std::unique_lock<std::mutex>& lock) {
  ++num_lingering_;
  // Without a timer while reads are in flight: to set one takes 1 us, a fifth of what a record of 4
  // kB takes in all.
  if (num_reading_ > 0) {
    arrived_.wait(lock, [this] { return has_work() || num_reading_ == 0; });
  }
  const bool stays =
      arrived_.wait_for(lock, kLinger, [this] { return has_work() || num_reading_ > 0; });
  end_lingering();
  return stays;
}

// Whether it was notified or came by itself: one thread fewer is on its way.
void DecodeArena::end_lingering() {
  --num_lingering_;
  num_notified_ = std::max(num_notified_ - 1, 0);
}

void DecodeArena::count_reader(int change) {
  num_reading_ += change;
  if (num_reading_ == 0) arrived_.notify_all();
}

void DecodeArena::drain_on_own_thread() {
  std::unique_lock lock(mutex_);
  while (!own_threads_end_) {
    if (Client* client = next_with_work()) {
      client->work(lock);
      continue;
    }
    ++num_lingering_;
    arrived_.wait(lock, [this] { return own_threads_end_ || has_work(); });
    end_lingering();
  }
}

void DecodeArena::end_own_threads() {
  {
    std::lock_guard lock(mutex_);
    own_threads_end_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : own_threads_) thread.join();
  own_threads_.clear();
  std::lock_guard lock(mutex_);
  own_threads_end_ = false;
}

bool DecodeArena::has_work() const {
  return std::ranges::any_of(members_, [](const Member& m) { return m.client->has_work(); });
}

bool DecodeArena::others_have_work(const Client& client) const {
  return std::ranges::any_of(
      members_, [&](const Member& m) { return m.client != &client && m.client->has_work(); });
}

DecodeArena::Client* DecodeArena::next_with_work() {
  const auto found =
      std::ranges::find_if(members_, [](const Member& m) { return m.client->has_work(); });
  if (found == members_.end()) return nullptr;
  const Member next = *found;
  members_.erase(found);
  members_.push_back(next);  // behind the others
  return next.client;
}

int DecodeArena::num_running() {
  std::lock_guard lock(mutex_);
  return num_running_;
}

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
