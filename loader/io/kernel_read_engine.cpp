#include "io/kernel_read_engine.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <ffkit/base/error.h>

#include "threads/threads.h"

namespace ffkit {
namespace {

std::string words_of(int error) {
  return std::generic_category().message(error);
}

// A sink of the user's own hears it from each loader, the log of the process once.
void warn_once(std::once_flag& said, const ReadEngineOptions& options, const std::string& message) {
  if (options.on_warning != nullptr) {
    warn(options.on_warning, message);
  } else {
    std::call_once(said, [&] { warn(nullptr, message); });
  }
}

}  // namespace

std::unique_ptr<KernelReadEngine> make_read_engine(IoEngine engine, std::vector<int> files,
                                                   const ReadEngineOptions& options) {
  if (engine == IoEngine::pread) {
    if (options.sqpoll) {
      throw Error(ErrorCode::invalid_argument,
                  "io.sqpoll works only with io_uring; leave io.sqpoll off with the pread engine");
    }
    return make_pread_read_engine(std::move(files), options);
  }
  ReadEngineOptions plain = options;
  plain.sqpoll = false;
  MakeInstead make_instead;
  if (engine == IoEngine::automatic) {
    make_instead = [files, plain](const UringRefusal& refused) {
      static std::once_flag said;
      warn_once(said, plain,
                fmt::format("io_uring is not available any more ({}: {}); a pool of pread threads "
                            "continues reading",
                            refused.what, words_of(refused.error)));
      return make_pread_read_engine(files, plain);
    };
  }
  UringRefusal refusal;
  if (auto uring = make_uring_read_engine(files, options, refusal, make_instead)) return uring;
  if (options.sqpoll) {
    UringRefusal plain_refusal;
    if (auto uring = make_uring_read_engine(files, plain, plain_refusal, make_instead)) {
      if (engine == IoEngine::io_uring) {
        throw Error(ErrorCode::unsupported,
                    "io.sqpoll was asked for, but the kernel refuses a submission thread; leave it "
                    "off, or give the process the permission (CAP_SYS_NICE before Linux 5.13)",
                    {.errno_value = refusal.error});
      }
      static std::once_flag said;
      warn_once(said, options,
                fmt::format("io.sqpoll is not available here ({}); io_uring is used without it",
                            words_of(refusal.error)));
      return uring;
    }
    refusal = plain_refusal;
  }
  if (refusal.error == 0) {
    if (engine != IoEngine::io_uring) return make_pread_read_engine(std::move(files), plain);
    throw Error(ErrorCode::unsupported,
                "io_uring was asked for, but ffkit was built without liburing; build ffkit with "
                "liburing 2.1 or newer, or use the pread engine");
  }
  if (engine == IoEngine::io_uring) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("io_uring was asked for, but the kernel refuses {}; allow it (containers often "
                    "block it by seccomp, see also /proc/sys/kernel/io_uring_disabled), or use the "
                    "pread engine",
                    refusal.what),
        {.errno_value = refusal.error});
  }
  static std::once_flag said;
  warn_once(said, options,
            fmt::format("io_uring is not available here ({}: {}); a pool of pread threads reads "
                        "instead",
                        refusal.what, words_of(refusal.error)));
  return make_pread_read_engine(std::move(files), plain);
}

namespace {

// In a row. A storm of signals interrupts a read some dozen times.
constexpr int kMaxRepeats = 10'000;

}  // namespace

bool ReadProgress::advance(int64_t result, const ReadEngineOptions& options) {
  // ECANCELED: nobody here cancels reads, but io_uring does when signals keep it from starting the
  // thread that one needs. Where there is never such a thread, and where a file system always
  // answers EAGAIN, trying has an end.
  if (result == -EINTR) return false;
  if ((result == -EAGAIN || result == -ECANCELED) && ++num_repeats_ < kMaxRepeats) return false;
  if (result == -EIO && num_failures_ < options.num_retries) {
    ++num_failures_;
    return false;
  }
  if (result < 0) {
    result_ = result;
    return true;
  }
  num_repeats_ = 0;
  num_done_ += static_cast<size_t>(result);
  result_ = static_cast<int64_t>(num_done_);
  // O_DIRECT stops between two multiples of the alignment only at the end of the file, and cannot
  // go on from there.
  return result == 0 || num_bytes() == 0 || num_done_ % options.alignment != 0;
}

// The pread engine. What the page cache holds is read at once on the caller's thread (RWF_NOWAIT);
// the rest goes to threads, as far as the system gives any. What is in a store is asked for there.

namespace {

// Enough to keep an NVMe disk busy with reads of 100 kB; more threads only cost context switches.
constexpr int kMaxReadThreads = 32;

class PreadReadEngine final : public KernelReadEngine {
 public:
  PreadReadEngine(std::vector<int> files, const ReadEngineOptions& options)
      : KernelReadEngine(options),
        files_(std::move(files)),
        try_page_cache_(options.alignment == 1) {
    const auto depth = static_cast<size_t>(options.queue_depth);
    reads_.resize(depth);
    for (auto* list : {&free_slots_, &fresh_, &finished_}) list->reserve(depth);
    queue_.resize(depth);
    completions_.reserve(depth);
    threads_.reserve(std::min(depth, size_t{kMaxReadThreads}));
    for (size_t slot = depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
  }

  ~PreadReadEngine() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return num_asked_ == 0; });
  }

  const char* name() const override { return "pread"; }

  void submit(const ReadRequest& request) override {
    const size_t slot = free_slots_.back();
    free_slots_.pop_back();
    reads_[slot] = ReadProgress(request);
    fresh_.push_back(slot);
    ++num_in_flight_;
  }

  std::span<const ReadCompletion> wait(int /*wanted*/) override {
    completions_.clear();
    if (try_page_cache_) std::erase_if(fresh_, [this](size_t slot) { return read_cached(slot); });
    std::erase_if(fresh_, [this](size_t slot) { return ask_store(slot); });
    if (!fresh_.empty()) start_fresh();
    if (completions_.empty() && threads_.empty() && has_queued()) read_here();
    std::unique_lock lock(mutex_);
    if (completions_.empty()) done_.wait(lock, [this] { return !finished_.empty(); });
    for (size_t slot : finished_) complete(slot);
    finished_.clear();
    return completions_;
  }

 private:
  int file_of(const ReadProgress& read) const { return descriptor_of(read.request(), files_); }
  // Of a system call: bytes or -errno.
  static int64_t outcome(ssize_t result) { return result < 0 ? -errno : result; }

  // False for a shard that is in a local file. Otherwise the answer comes by itself.
  bool ask_store(size_t slot) {
    const ReadRequest& request = reads_[slot].request();
    if (request.shard == nullptr || request.shard->descriptor >= 0) return false;
    {
      std::lock_guard lock(mutex_);
      ++num_asked_;
    }
    request.shard->read(request.offset, {request.buffer, request.num_bytes},
                        [this, slot](std::exception_ptr error) {
                          std::lock_guard lock(mutex_);
                          const int64_t num_bytes =
                              static_cast<int64_t>(reads_[slot].request().num_bytes);
                          const int64_t result = error == nullptr ? num_bytes : -EREMOTEIO;
                          reads_[slot].finish(result, std::move(error));
                          finished_.push_back(slot);
                          --num_asked_;
                          done_.notify_all();
                        });
    return true;
  }

  bool has_queued() {
    std::lock_guard lock(mutex_);
    return num_queued_ > 0;
  }

  // True when the read completed without blocking; any trouble is left to the threads.
  bool read_cached(size_t slot) {
    if (file_of(reads_[slot]) < 0) return false;
    int64_t result = 0;
    do {
      const ReadProgress& read = reads_[slot];
      const iovec target{.iov_base = read.buffer(), .iov_len = read.num_bytes()};
      result = outcome(preadv2(file_of(read), &target, 1, read.offset(), RWF_NOWAIT));
      if (result == -EOPNOTSUPP) try_page_cache_ = false;
      if (result < 0) return false;
    } while (!reads_[slot].advance(result, options_));
    complete(slot);
    return true;
  }

  void complete(size_t slot) {
    completions_.push_back(reads_[slot].completion());
    free_slots_.push_back(slot);
    --num_in_flight_;
  }

  void start_fresh() {
    const size_t num_started = fresh_.size();
    {
      std::lock_guard lock(mutex_);
      for (size_t slot : fresh_) queue_[(queue_begin_ + num_queued_++) % queue_.size()] = slot;
      fresh_.clear();
      const auto max_threads = static_cast<size_t>(std::min(options_.queue_depth, kMaxReadThreads));
      const size_t wanted = std::min(max_threads, threads_.size() - num_idle_ + num_queued_);
      while (threads_.size() < wanted && start_thread()) ++num_idle_;
    }
    for (size_t i = 0; i < num_started; ++i) work_.notify_one();
  }

  // False when the system gives no more threads: those that there are do it all, or the caller's
  // own.
  bool start_thread() {
    try {
      threads_.emplace_back([this] { run(); });
      return true;
    } catch (const std::system_error& error) {
      if (!std::exchange(said_, true)) {
        warn(options_.on_warning,
             fmt::format("cannot start more threads for reading ({}), {} are running; raise the "
                         "limit (ulimit -u, or pids.max of the container)",
                         error.code().message(), threads_.size()));
      }
      return false;
    }
  }

  // One of the queued reads, where there are no threads.
  void read_here() {
    const size_t slot = take_queued();
    read_all(slot);
    finished_.push_back(slot);
  }

  size_t take_queued() {
    const size_t slot = queue_[queue_begin_];
    queue_begin_ = (queue_begin_ + 1) % queue_.size();
    --num_queued_;
    return slot;
  }

  void read_all(size_t slot) {
    ReadProgress& read = reads_[slot];
    while (!read.advance(
        outcome(pread(file_of(read), read.buffer(), read.num_bytes(), read.offset())), options_)) {
    }
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [this] { return stop_ || num_queued_ > 0; });
      if (stop_) return;
      const size_t slot = take_queued();
      --num_idle_;
      lock.unlock();
      read_all(slot);
      lock.lock();
      ++num_idle_;
      finished_.push_back(slot);
      done_.notify_one();
    }
  }

  std::vector<int> files_;
  // Used by the caller's thread alone:
  bool try_page_cache_;
  bool said_ = false;  // that there are too few threads
  std::vector<size_t> free_slots_;
  std::vector<size_t> fresh_;  // submitted, not yet tried
  std::vector<ReadCompletion> completions_;

  // One slot for each read in flight; belongs to whoever handles it.
  std::vector<ReadProgress> reads_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable work_;
  std::condition_variable done_;
  bool stop_ = false;
  std::vector<size_t> queue_;  // for the threads: a ring, oldest first from queue_begin_
  size_t queue_begin_ = 0;
  size_t num_queued_ = 0;
  std::vector<size_t> finished_;  // by the threads
  std::vector<std::thread> threads_;
  size_t num_idle_ = 0;
  int num_asked_ = 0;  // of stores, and not answered
};

}  // namespace

std::unique_ptr<KernelReadEngine> make_pread_read_engine(std::vector<int> files,
                                                         const ReadEngineOptions& options) {
  return std::make_unique<PreadReadEngine>(std::move(files), options);
}

}  // namespace ffkit
