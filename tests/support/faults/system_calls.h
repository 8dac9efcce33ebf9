// System calls of this program that a test replaces while it runs, of the library liburing as well:
//
//   testing::Replaced<&testing::Calls::pread> pread_{slow_pread};
//
// For programs that link ffkit_fault_injection: the linker leads the calls of all that is linked
// statically (--wrap) through here; shared libraries are not affected. A replacement calls the real
// one by real_calls. Any thread may call while one thread replaces.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

struct io_uring;
struct io_uring_cqe;
struct io_uring_params;
struct statx;

namespace ffkit::testing {

template <template <typename> typename Slot>
struct SystemCalls {
  Slot<int(const char* path, int flags, mode_t mode)> open;
  Slot<ssize_t(int fd, void* data, size_t num_bytes, off_t offset)> pread;
  Slot<ssize_t(int fd, const iovec* data, int count, off_t offset, int flags)> preadv2;
  Slot<int(int fd)> fsync;
  Slot<int(const char* from, const char* to)> rename;
  Slot<int(int fd, int operation)> flock;
  Slot<int(int fd, off_t offset, off_t num_bytes, int advice)> posix_fadvise;
  Slot<int(int folder, const char* path, int flags, unsigned mask, struct statx* info)> statx;
  Slot<int(const timespec* wanted, timespec* left)> nanosleep;
  Slot<int(io_uring* ring, unsigned wanted)> io_uring_submit_and_wait;
  Slot<int(io_uring* ring, io_uring_cqe** cqe, unsigned submit, unsigned wanted, sigset_t* mask)>
      io_uring_get_cqe;
  Slot<int(unsigned entries, io_uring* ring, io_uring_params* params)> io_uring_queue_init_params;
};

template <typename Function>
using Real = Function*;
template <typename Function>
using Replaceable = std::atomic<Function*>;

extern const SystemCalls<Real> real_calls;
using Calls = SystemCalls<Replaceable>;
// What is called: the real ones, or those of a FaultInjection, unless a test replaces them.
extern Calls calls;

// std::chrono::steady_clock is so much further than it was: a test lets time pass without waiting.
extern std::atomic<int64_t> passed_ns;

template <auto Call>
class Replaced {
 public:
  using Function = decltype((calls.*Call).load());
  explicit Replaced(Function replacement) : before_((calls.*Call).exchange(replacement)) {}
  ~Replaced() { calls.*Call = before_; }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  Function before_;
};

}  // namespace ffkit::testing
