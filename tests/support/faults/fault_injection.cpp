#include "faults/fault_injection.h"

#include <fcntl.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <stdexcept>

#include "faults/system_calls.h"
#include "faults/write_journal.h"

namespace ffkit::testing {
namespace {

FaultInjection* active = nullptr;

}  // namespace

std::string_view to_string(SystemCall call) {
  constexpr std::array kNames = {"open",  "write",  "pwrite",         "fsync",
                                 "close", "rename", "sync_file_range"};
  return kNames[static_cast<size_t>(call)];
}

FaultInjection::FaultInjection() {
  if (active != nullptr) throw std::logic_error("two FaultInjections at once");
  active = this;
}

FaultInjection::FaultInjection(const Fault& fault) : FaultInjection() {
  fault_ = fault;
  has_fault_ = true;
}

FaultInjection::~FaultInjection() {
  active = nullptr;
}

void FaultInjection::disturb() {
  is_disturbed_ = true;
}

bool FaultInjection::fails(SystemCall call) {
  const int64_t number = num_calls_[static_cast<size_t>(call)]++;
  if (!has_fault_ || call != fault_.call) return false;
  if (number != fault_.first && !(fault_.forever && number > fault_.first)) return false;
  errno = fault_.error;
  return true;
}

bool FaultInjection::is_interrupted() {
  random_ = random_ * 1664525U + 1013904223U;
  if (!is_disturbed_ || (random_ >> 16) % 3 != 0) return false;
  errno = EINTR;
  return true;
}

size_t FaultInjection::part_of(size_t num_bytes) {
  if (!is_disturbed_) return num_bytes;
  random_ = random_ * 1664525U + 1013904223U;
  return std::min<size_t>(num_bytes, 1 + (random_ >> 16) % 5000);
}

}  // namespace ffkit::testing

// The linker turns calls of f into calls of __wrap_f, and __real_f into f.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl50-cpp)
using ffkit::testing::active;
using ffkit::testing::active_journal;
using ffkit::testing::calls;
using ffkit::testing::SystemCall;

extern "C" {

int __real_open(const char* path, int flags, ...);
ssize_t __real_pread(int fd, void* data, size_t num_bytes, off_t offset);
ssize_t __real_preadv2(int fd, const iovec* data, int count, off_t offset, int flags);
ssize_t __real_write(int fd, const void* data, size_t num_bytes);
ssize_t __real_pwrite(int fd, const void* data, size_t num_bytes, off_t offset);
int __real_fsync(int fd);
int __real_syncfs(int fd);
int __real_close(int fd);
int __real_rename(const char* from, const char* to);
int __real_unlink(const char* path);
int __real_sync_file_range(int fd, off_t offset, off_t num_bytes, unsigned flags);
int __real_flock(int fd, int operation);
int __real_posix_fadvise(int fd, off_t offset, off_t num_bytes, int advice);
int __real_statx(int folder, const char* path, int flags, unsigned mask, struct statx* info);
int __real_nanosleep(const timespec* wanted, timespec* left);
int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
// (Not there without liburing.)
[[gnu::weak]] int __real_io_uring_submit_and_wait(io_uring* ring, unsigned wanted);
[[gnu::weak]] int __real___io_uring_get_cqe(io_uring* ring, io_uring_cqe** cqe, unsigned submit,
                                            unsigned wanted, sigset_t* mask);
[[gnu::weak]] int __real_io_uring_queue_init_params(unsigned entries, io_uring* ring,
                                                    io_uring_params* params);

}  // extern "C"

namespace {

int open_or_fail(const char* path, int flags, mode_t mode) {
  if (active != nullptr && (active->is_interrupted() || active->fails(SystemCall::open))) return -1;
  return __real_open(path, flags, mode);
}

int fsync_or_fail(int fd) {
  if (active != nullptr && (active->is_interrupted() || active->fails(SystemCall::fsync)))
    return -1;
  const int result = __real_fsync(fd);
  if (result == 0 && active_journal() != nullptr) active_journal()->synced(fd);
  return result;
}

int rename_or_fail(const char* from, const char* to) {
  if (active != nullptr && active->fails(SystemCall::rename)) return -1;
  const int result = __real_rename(from, to);
  if (result == 0 && active_journal() != nullptr) active_journal()->renamed(from, to);
  return result;
}

int real_open(const char* path, int flags, mode_t mode) {
  return __real_open(path, flags, mode);
}

}  // namespace

namespace ffkit::testing {

constinit const SystemCalls<Real> real_calls = {real_open,
                                                __real_pread,
                                                __real_preadv2,
                                                __real_fsync,
                                                __real_rename,
                                                __real_flock,
                                                __real_posix_fadvise,
                                                __real_statx,
                                                __real_nanosleep,
                                                __real_io_uring_submit_and_wait,
                                                __real___io_uring_get_cqe,
                                                __real_io_uring_queue_init_params};
std::atomic<int64_t> passed_ns = 0;
constinit Calls calls = {open_or_fail,
                         __real_pread,
                         __real_preadv2,
                         fsync_or_fail,
                         rename_or_fail,
                         __real_flock,
                         __real_posix_fadvise,
                         __real_statx,
                         __real_nanosleep,
                         __real_io_uring_submit_and_wait,
                         __real___io_uring_get_cqe,
                         __real_io_uring_queue_init_params};

}  // namespace ffkit::testing

extern "C" {

int __wrap_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return calls.open.load()(path, flags, mode);
}
ssize_t __wrap_pread(int fd, void* data, size_t num_bytes, off_t offset) {
  return calls.pread.load()(fd, data, num_bytes, offset);
}
ssize_t __wrap_preadv2(int fd, const iovec* data, int count, off_t offset, int flags) {
  return calls.preadv2.load()(fd, data, count, offset, flags);
}
int __wrap_fsync(int fd) {
  return calls.fsync.load()(fd);
}
int __wrap_rename(const char* from, const char* to) {
  return calls.rename.load()(from, to);
}
int __wrap_flock(int fd, int operation) {
  return calls.flock.load()(fd, operation);
}
int __wrap_posix_fadvise(int fd, off_t offset, off_t num_bytes, int advice) {
  return calls.posix_fadvise.load()(fd, offset, num_bytes, advice);
}
int __wrap_statx(int folder, const char* path, int flags, unsigned mask, struct statx* info) {
  return calls.statx.load()(folder, path, flags, mask, info);
}
int __wrap_nanosleep(const timespec* wanted, timespec* left) {
  return calls.nanosleep.load()(wanted, left);
}
int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  return __real__ZNSt6chrono3_V212steady_clock3nowEv() + ffkit::testing::passed_ns;
}
int __wrap_io_uring_submit_and_wait(io_uring* ring, unsigned wanted) {
  return calls.io_uring_submit_and_wait.load()(ring, wanted);
}
int __wrap___io_uring_get_cqe(io_uring* ring, io_uring_cqe** cqe, unsigned submit, unsigned wanted,
                              sigset_t* mask) {
  return calls.io_uring_get_cqe.load()(ring, cqe, submit, wanted, mask);
}
int __wrap_io_uring_queue_init_params(unsigned entries, io_uring* ring, io_uring_params* params) {
  return calls.io_uring_queue_init_params.load()(entries, ring, params);
}

ssize_t __wrap_write(int fd, const void* data, size_t num_bytes) {
  if (active != nullptr) {
    if (active->is_interrupted()) return -1;
    if (active->fails(SystemCall::write)) return active->result();
    num_bytes = active->part_of(num_bytes);
  }
  const ssize_t result = __real_write(fd, data, num_bytes);
  if (result > 0 && active_journal() != nullptr) active_journal()->wrote(fd);
  return result;
}

ssize_t __wrap_pwrite(int fd, const void* data, size_t num_bytes, off_t offset) {
  if (active != nullptr) {
    if (active->is_interrupted()) return -1;
    if (active->fails(SystemCall::pwrite)) return active->result();
    num_bytes = active->part_of(num_bytes);
  }
  const ssize_t result = __real_pwrite(fd, data, num_bytes, offset);
  if (result > 0 && active_journal() != nullptr) active_journal()->wrote(fd);
  return result;
}

int __wrap_syncfs(int fd) {
  const int result = __real_syncfs(fd);
  if (result == 0 && active_journal() != nullptr) active_journal()->synced_everything();
  return result;
}

// As the real one, it closes the descriptor whatever it says.
int __wrap_close(int fd) {
  const bool is_for_writing = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  const bool fails = active != nullptr && is_for_writing && active->fails(SystemCall::close);
  const int error = errno;
  const int result = __real_close(fd);
  if (!fails) return result;
  errno = error;
  return -1;
}

int __wrap_unlink(const char* path) {
  const int result = __real_unlink(path);
  if (result == 0 && active_journal() != nullptr) active_journal()->removed(path);
  return result;
}

int __wrap_sync_file_range(int fd, off_t offset, off_t num_bytes, unsigned flags) {
  if (active != nullptr && active->fails(SystemCall::sync_file_range)) return -1;
  return __real_sync_file_range(fd, offset, num_bytes, flags);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,cert-dcl50-cpp)
