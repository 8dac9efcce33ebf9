// The io_uring engine: a system call submits a few reads as soon as they are prepared; another the
// rest, and waits for completions. A ring that takes no more reads is replaced by a new one: the
// reads that it did not take fail, later ones do not. A kernel that refuses the calls from now on
// is replaced by another engine, if there is one: it gets the reads that were not taken, too.
#include <errno.h>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>

#include "io/kernel_read_engine.h"

namespace ffkit {
namespace {

// How long the submission thread looks for reads before it sleeps: longer than a decoder takes for
// a batch of small pictures.
constexpr unsigned kPollMs = 20;

// By a filter or a policy: it stays, where a shortage passes.
bool is_refusal(int error) {
  return error == EPERM || error == EACCES || error == ENOSYS;
}

// Asks the kernel to take no reads and to wait for none, which it does at once. A filter of system
// calls (seccomp) may allow io_uring_setup and refuse this one.
bool may_enter(const io_uring& ring) {
  return syscall(__NR_io_uring_enter, ring.ring_fd, 0, 0, 0, nullptr, 0) >= 0;
}

// Nothing is refused by error 0.
UringRefusal open_ring(const ReadEngineOptions& options, io_uring& ring) {
  io_uring_params params{};
  // Completions are delivered when this thread enters the kernel instead of interrupting it (Linux
  // 5.19).
  const unsigned wanted =
      IORING_SETUP_SUBMIT_ALL | (options.sqpoll ? IORING_SETUP_SQPOLL : IORING_SETUP_COOP_TASKRUN);
  const unsigned needed = options.sqpoll ? IORING_SETUP_SQPOLL : 0;
  const auto open = [&](unsigned flags) {
    params = {};
    params.flags = flags;
    params.sq_thread_idle = kPollMs;
    return io_uring_queue_init_params(static_cast<unsigned>(options.queue_depth), &ring, &params);
  };
  int result = open(wanted);
  if (result == -EINVAL) result = open(needed);
  if (result != 0) return {-result, "io_uring_setup"};
  UringRefusal refusal;
  if (!may_enter(ring)) {
    refusal = {errno, "io_uring_enter"};
  } else if ((params.features & IORING_FEAT_RW_CUR_POS) == 0) {
    // It came with IORING_OP_READ. To ask for the operations themselves needs io_uring_register,
    // which may be refused too, and without which reads work.
    refusal = {ENOSYS, "IORING_OP_READ of Linux 5.6"};
  }
  if (refusal.error != 0) io_uring_queue_exit(&ring);
  return refusal;
}

// So many prepared reads go to the kernel at once. More at a time cost less (3.5 us of processor
// time a small read instead of 4.2), but the disk waits for them meanwhile: a virtual one gives 8
// to 10 % fewer.
constexpr int kSubmittedTogether = 4;

// How often reads are offered again to a kernel that is short of memory and has none of them; the
// waits in between double from 1 ms on and are 1 s together.
constexpr int kMaxRefusals = 10;

// One system call reads at most 2 GiB; the rest is continued like any short read.
constexpr size_t kMaxCallBytes = size_t{1} << 30;

// What of `memory` is registered: all or nothing. It is an optimisation, which the kernel refuses
// for instance beyond RLIMIT_MEMLOCK.
FixedMemory register_memory(io_uring& ring, std::span<std::byte> memory) {
  const FixedMemory fixed(memory);
  const std::vector<iovec> regions = fixed.regions();
  const bool is_registered =
      !regions.empty() &&
      io_uring_register_buffers(&ring, regions.data(), static_cast<unsigned>(regions.size())) == 0;
  return is_registered ? fixed : FixedMemory();
}

class UringReadEngine final : public KernelReadEngine {
 public:
  // Takes over `ring`.
  UringReadEngine(const io_uring& ring, std::vector<int> files, const ReadEngineOptions& options,
                  MakeInstead make_instead)
      : KernelReadEngine(options),
        ring_(ring),
        files_(std::move(files)),
        make_instead_(std::move(make_instead)) {
    const auto depth = static_cast<size_t>(options.queue_depth);
    reads_.resize(depth);
    completions_.reserve(depth);
    free_slots_.reserve(depth);
    again_.reserve(depth);
    is_busy_.resize(depth);
    for (size_t slot = depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
    register_files();
  }

  ~UringReadEngine() override {
    if (!has_ring_) return;
    // The kernel writes to the callers' buffers until the last completion. Reads that it never took
    // do not count.
    while (num_in_kernel_ > 0) {
      io_uring_cqe* cqe = nullptr;
      const int result = io_uring_wait_cqe(&ring_, &cqe);
      if (result == -EINTR || result == -EAGAIN) continue;
      if (is_refusal(-result)) {
        wait_without_call();
        continue;
      }
      if (result < 0) break;
      io_uring_cqe_seen(&ring_, cqe);
      --num_in_kernel_;
    }
    io_uring_queue_exit(&ring_);
  }

  const char* name() const override { return has_instead_ ? instead_->name() : "io_uring"; }

  std::string description() const override {
    if (has_instead_) return instead_->description();
    std::string granted;
    for (const auto& [is_granted, what] : {std::pair{files_registered_.load(), "fixed files"},
                                           std::pair{has_fixed_buffers_.load(), "fixed buffers"},
                                           std::pair{options_.sqpoll, "sqpoll"}}) {
      if (is_granted) granted += std::string(granted.empty() ? " (" : ", ") + what;
    }
    return name() + (granted.empty() ? granted : granted + ")");
  }

  void submit(const ReadRequest& request) override {
    check_alive();
    if (!has_ring_ && !has_instead_) open_new_ring();
    if (has_instead_) {
      submit_instead(request);
      return;
    }
    const size_t slot = free_slots_.back();
    free_slots_.pop_back();
    reads_[slot] = ReadProgress(request);
    is_busy_[slot] = true;
    ++num_in_flight_;
    prepare(slot);
    // What the kernel does not take now is offered again, and an error seen, by enter().
    if (num_prepared_ >= kSubmittedTogether) count_taken(io_uring_submit_and_wait(&ring_, 0));
  }

  std::span<const ReadCompletion> wait(int wanted) override {
    check_alive();
    if (has_instead_) return wait_instead(wanted);
    completions_.clear();
    if (!register_tried_ && bytes_read_ >= options_.buffer_memory.size()) {
      register_tried_ = true;
      fixed_memory_ = register_memory(ring_, options_.buffer_memory);
      has_fixed_buffers_ = !fixed_memory_.empty();
    }
    while (completions_.empty()) {
      enter(wanted);
      if (has_ring_) reap();
      if (completions_.empty() && has_instead_) return wait_instead(wanted);
    }
    return completions_;
  }

 private:
  void register_files() {
    // An optimisation: it fails, for instance, for more files than RLIMIT_NOFILE.
    files_registered_ =
        !files_.empty() && io_uring_register_files(&ring_, files_.data(), files_.size()) == 0;
  }

  void open_new_ring() {
    if (const UringRefusal refusal = open_ring(options_, ring_); refusal.error != 0) {
      if (make_instead_ != nullptr) {
        go_on_instead(refusal);
        return;
      }
      throw Error(
          ErrorCode::io,
          fmt::format(
              "the loader cannot read through io_uring any more, because the kernel now refuses {}",
              refusal.what),
          {.errno_value = refusal.error});
    }
    has_ring_ = true;
    register_files();
  }

  // Another engine gets the reads that are in flight, and all later ones.
  void go_on_instead(const UringRefusal& refusal) {
    instead_ = make_instead_(refusal);
    has_instead_ = true;
    for (size_t slot = 0; slot < is_busy_.size(); ++slot) {
      if (is_busy_[slot]) submit_instead(reads_[slot].request());
    }
  }

  void submit_instead(const ReadRequest& request) {
    instead_->submit(request);
    num_in_flight_ = instead_->num_in_flight();
  }

  std::span<const ReadCompletion> wait_instead(int wanted) {
    const std::span<const ReadCompletion> completions = instead_->wait(wanted);
    num_in_flight_ = instead_->num_in_flight();
    return completions;
  }

  void prepare(size_t slot) {
    const ReadProgress& read = reads_[slot];
    io_uring_sqe* sqe = next_entry();
    const int file = read.request().file;
    const int descriptor = files_registered_ ? file : descriptor_of(read.request(), files_);
    const auto num_bytes = static_cast<unsigned>(std::min(read.num_bytes(), kMaxCallBytes));
    const auto offset = static_cast<uint64_t>(read.offset());
    if (const int region = fixed_memory_.find(read.buffer(), num_bytes); region >= 0) {
      io_uring_prep_read_fixed(sqe, descriptor, read.buffer(), num_bytes, offset, region);
    } else {
      io_uring_prep_read(sqe, descriptor, read.buffer(), num_bytes, offset);
    }
    if (files_registered_) sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(sqe, slot);
    ++num_prepared_;
  }

  // The queue has room: its entries are at least queue_depth, and each read has at most one of
  // them. Only the submission thread may give an entry back a little later than the read's
  // completion.
  io_uring_sqe* next_entry() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      const int result = io_uring_sqring_wait(&ring_);
      if (result < 0 && result != -EINTR && result != -EAGAIN) {
        error_ = -result;
        check_alive();
      }
      sqe = io_uring_get_sqe(&ring_);
    }
    return sqe;
  }

  // Counts what the kernel took by a call with this result. Returns false of a call that failed.
  bool count_taken(int result) {
    if (result < 0) return false;
    // With a submission thread liburing's count may include earlier ones; all that is prepared is
    // on its way.
    const int num_taken = options_.sqpoll ? num_prepared_ : result;
    num_in_kernel_ += num_taken;
    num_prepared_ -= num_taken;
    if (num_taken > 0) num_refusals_ = 0;
    return true;
  }

  // Submits what is prepared and blocks until there is a completion, or `wanted` of them. No more
  // than the kernel has taken for sure can be waited for.
  void enter(int wanted) {
    const int num_awaited = std::clamp(wanted, 1, std::max(num_in_kernel_, 1));
    const int result = io_uring_submit_and_wait(&ring_, static_cast<unsigned>(num_awaited));
    if (count_taken(result) || result == -EINTR) return;
    // The kernel is short of memory or its completion queue is full: what completes makes room, and
    // so does time.
    if (result == -EAGAIN || result == -EBUSY || result == -ENOMEM) {
      if (num_in_kernel_ > 0) {
        wait_for_kernel();
        return;
      }
      if (num_refusals_ < kMaxRefusals) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1 << num_refusals_++));
        return;
      }
    }
    give_up_ring(-result);
  }

  void wait_for_kernel() {
    io_uring_cqe* cqe = nullptr;
    const int result = io_uring_wait_cqe(&ring_, &cqe);
    if (result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY) return;
    if (is_refusal(-result)) {
      wait_without_call();
      return;
    }
    error_ = -result;
    check_alive();
  }

  // The kernel writes completions to memory that is shared with it: they are there without being
  // asked for.
  static void wait_without_call() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  // Waits for what the kernel has; all other reads fail with `error`, or another engine gets them.
  void give_up_ring(int error) {
    // The submission thread may have taken any of them.
    if (options_.sqpoll) {
      error_ = error;
      check_alive();
    }
    while (num_in_kernel_ > 0) {
      wait_for_kernel();
      reap();
    }
    const bool go_on = is_refusal(error) && make_instead_ != nullptr;
    for (size_t slot = 0; slot < is_busy_.size() && !go_on; ++slot) {
      if (is_busy_[slot]) finish(slot, {reads_[slot].request().tag, -int64_t{error}});
    }
    io_uring_queue_exit(&ring_);
    has_ring_ = files_registered_ = false;
    num_prepared_ = num_refusals_ = 0;
    fixed_memory_ = {};
    has_fixed_buffers_ = register_tried_ = false;
    bytes_read_ = 0;
    if (go_on) go_on_instead({error, "io_uring_enter"});
  }

  void finish(size_t slot, const ReadCompletion& completion) {
    completions_.push_back(completion);
    free_slots_.push_back(slot);
    is_busy_[slot] = false;
    --num_in_flight_;
  }

  // An error that leaves open what the kernel still writes to: the engine is not used again.
  void check_alive() const {
    if (error_ != 0) {
      throw Error(ErrorCode::io, "the loader cannot read through io_uring any more",
                  {.errno_value = error_});
    }
  }

  void reap() {
    unsigned head = 0;
    unsigned num_seen = 0;
    io_uring_cqe* cqe = nullptr;
    again_.clear();
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++num_seen;
      bytes_read_ += static_cast<size_t>(std::max(cqe->res, 0));
      const auto slot = static_cast<size_t>(cqe->user_data);
      if (!reads_[slot].advance(cqe->res, options_)) {
        again_.push_back(slot);
        continue;
      }
      finish(slot, reads_[slot].completion());
    }
    io_uring_cq_advance(&ring_, num_seen);
    num_in_kernel_ -= static_cast<int>(num_seen);
    for (size_t slot : again_) prepare(slot);
  }

  io_uring ring_;
  bool has_ring_ = true;
  std::vector<int> files_;
  std::atomic<bool> files_registered_{};
  // Registering faults all of the memory in. It waits until that has happened anyway, as many bytes
  // as there are having been read: a short run neither pays for it nor holds memory that it does
  // not use.
  size_t bytes_read_ = 0;
  bool register_tried_ = false;
  FixedMemory fixed_memory_;                    // empty: none is registered
  std::atomic<bool> has_fixed_buffers_{false};  // likewise, for description()
  int num_prepared_ = 0;                        // not yet taken by the kernel
  int num_in_kernel_ = 0;
  int num_refusals_ = 0;  // in a row, with nothing in the kernel
  int error_ = 0;         // why the engine is not used any more
  // One slot for each read in flight; the slot is the SQE's user data.
  std::vector<ReadProgress> reads_;
  std::vector<bool> is_busy_;  // by slot
  std::vector<size_t> free_slots_;
  std::vector<size_t> again_;
  std::vector<ReadCompletion> completions_;
  MakeInstead make_instead_;  // null: reads fail where the kernel refuses them
  std::unique_ptr<KernelReadEngine> instead_;
  std::atomic<bool> has_instead_{false};  // likewise, for description()
};

}  // namespace

std::unique_ptr<KernelReadEngine> make_uring_read_engine(std::vector<int> files,
                                                         const ReadEngineOptions& options,
                                                         UringRefusal& refusal,
                                                         MakeInstead make_instead) {
  io_uring ring{};
  refusal = open_ring(options, ring);
  if (refusal.error != 0) return nullptr;
  return std::make_unique<UringReadEngine>(ring, std::move(files), options,
                                           std::move(make_instead));
}

}  // namespace ffkit
