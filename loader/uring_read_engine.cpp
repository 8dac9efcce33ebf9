// The io_uring engine: one system call submits all prepared reads and waits for completions.
#include <errno.h>
#include <liburing.h>

#include <algorithm>
#include <utility>

#include <ffkit/format/error.h>

#include "read_engine.h"
#include "read_progress.h"

namespace ffkit {
namespace {

// Returns 0 or -errno.
int open_ring(int queue_depth, io_uring& ring) {
  // Completions are delivered when this thread enters the kernel instead of interrupting it (Linux 5.19).
  int result = io_uring_queue_init(static_cast<unsigned>(queue_depth), &ring,
                                   IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL);
  if (result == -EINVAL) result = io_uring_queue_init(static_cast<unsigned>(queue_depth), &ring, 0);
  if (result != 0) return result;
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  const bool can_read = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
  io_uring_free_probe(probe);
  if (!can_read) {  // Linux 5.1 .. 5.5
    io_uring_queue_exit(&ring);
    return -ENOSYS;
  }
  return 0;
}

// One system call reads at most 2 GiB; the rest is continued like any short read.
constexpr size_t kMaxCallBytes = size_t{1} << 30;

class UringReadEngine final : public ReadEngine {
 public:
  // Takes over `ring`.
  UringReadEngine(const io_uring& ring, std::vector<int> files, const ReadEngineOptions& options)
      : ReadEngine(options), ring_(ring), files_(std::move(files)) {
    const auto depth = static_cast<size_t>(options.queue_depth);
    reads_.resize(depth);
    completions_.reserve(depth);
    free_slots_.reserve(depth);
    again_.reserve(depth);
    for (size_t slot = depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
    // An optimisation: it fails, for instance, for more files than RLIMIT_NOFILE.
    files_registered_ =
        !files_.empty() && io_uring_register_files(&ring_, files_.data(), files_.size()) == 0;
  }

  ~UringReadEngine() override {
    // The kernel writes to the callers' buffers until the last completion. Reads that it never took do not count.
    while (num_in_kernel_ > 0) {
      io_uring_cqe* cqe = nullptr;
      const int result = io_uring_wait_cqe(&ring_, &cqe);
      if (result == -EINTR || result == -EAGAIN) continue;
      if (result < 0) break;
      io_uring_cqe_seen(&ring_, cqe);
      --num_in_kernel_;
    }
    io_uring_queue_exit(&ring_);
  }

  const char* name() const override { return "io_uring"; }

  void submit(const ReadRequest& request) override {
    check_alive();
    const size_t slot = free_slots_.back();
    free_slots_.pop_back();
    reads_[slot] = ReadProgress(request);
    ++num_in_flight_;
    prepare(slot);
  }

  std::span<const ReadCompletion> wait() override {
    check_alive();
    completions_.clear();
    while (completions_.empty()) {
      enter();
      reap();
    }
    return completions_;
  }

 private:
  // The queue has room: its entries are at least queue_depth, and each read has at most one of them.
  void prepare(size_t slot) {
    const ReadProgress& read = reads_[slot];
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    const int file = read.request().file;
    io_uring_prep_read(sqe, files_registered_ ? file : files_[static_cast<size_t>(file)],
                       read.buffer(),
                       static_cast<unsigned>(std::min(read.num_bytes(), kMaxCallBytes)),
                       static_cast<uint64_t>(read.offset()));
    if (files_registered_) sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(sqe, slot);
  }

  // Submits what is prepared and blocks until there is a completion.
  void enter() {
    const int result = io_uring_submit_and_wait(&ring_, 1);
    if (result >= 0) {
      num_in_kernel_ += result;
      return;
    }
    if (result == -EINTR) return;
    if (num_in_kernel_ > 0 && (result == -EAGAIN || result == -EBUSY)) {
      // The kernel is short of memory or its completion queue is full: what completes makes room.
      io_uring_cqe* cqe = nullptr;
      static_cast<void>(io_uring_wait_cqe(&ring_, &cqe));
      return;
    }
    error_ = -result;
    check_alive();
  }

  // After an error of the ring itself its reads are in an unknown state: it is not used again.
  void check_alive() const {
    if (error_ != 0) {
      throw Error(ErrorCode::io, "io_uring takes no more reads", {.errno_value = error_});
    }
  }

  void reap() {
    unsigned head = 0;
    unsigned num_seen = 0;
    io_uring_cqe* cqe = nullptr;
    again_.clear();
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++num_seen;
      const auto slot = static_cast<size_t>(cqe->user_data);
      if (!reads_[slot].advance(cqe->res, options_)) {
        again_.push_back(slot);
        continue;
      }
      completions_.push_back(reads_[slot].completion());
      free_slots_.push_back(slot);
      --num_in_flight_;
    }
    io_uring_cq_advance(&ring_, num_seen);
    num_in_kernel_ -= static_cast<int>(num_seen);
    for (size_t slot : again_) prepare(slot);
  }

  io_uring ring_;
  std::vector<int> files_;
  bool files_registered_ = false;
  int num_in_kernel_ = 0;
  int error_ = 0;  // errno of the ring
  std::vector<ReadProgress>
      reads_;  // one slot for each read in flight; the slot is the SQE's user data
  std::vector<size_t> free_slots_;
  std::vector<size_t> again_;
  std::vector<ReadCompletion> completions_;
};

}  // namespace

std::unique_ptr<ReadEngine> make_uring_read_engine(std::vector<int> files,
                                                   const ReadEngineOptions& options, int& error) {
  io_uring ring{};
  error = -open_ring(options.queue_depth, ring);
  if (error != 0) return nullptr;
  return std::make_unique<UringReadEngine>(ring, std::move(files), options);
}

}  // namespace ffkit
