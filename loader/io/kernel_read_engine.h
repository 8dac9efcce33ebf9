// KernelReadEngine: the loader's own implementations of ReadEngine, io_uring and a pool of pread
// threads.
//
// Short reads are continued, EINTR and EAGAIN repeated, EIO repeated num_retries times. The -errno
// of a completion may be that of a kernel that has taken no read for a second. With io_uring,
// buffer_memory is registered with the kernel where that is allowed (within RLIMIT_MEMLOCK), once
// as many bytes have been read as it has; the kernel then does not look up the pages of each read
// anew. Buffers elsewhere are read to as well.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/loader/io_options.h>
#include <ffkit/loader/read_engine.h>

namespace ffkit {

// submit() and wait() throw Error(io) when the kernel takes no reads at all any more.
class KernelReadEngine : public ReadEngine {
 public:
  virtual const char* name() const = 0;  // "io_uring" or "pread"
  // The name and what the kernel has granted so far: "io_uring (fixed files, fixed buffers,
  // sqpoll)".
  std::string description() const override { return name(); }
  int queue_depth() const { return options_.queue_depth; }
  int num_in_flight() const final { return num_in_flight_; }

 protected:
  explicit KernelReadEngine(ReadEngineOptions options) : options_(std::move(options)) {}

  const ReadEngineOptions options_;
  int num_in_flight_ = 0;
};

// `files` are open file descriptors; they must stay open as long as the engine. Without them each
// request brings its own. Throws
// Error(unsupported) for IoEngine::io_uring where the kernel refuses it, or refuses sqpoll;
// IoEngine::automatic then goes without and says so once in the log, also when that happens later.
// Throws Error(invalid_argument) for sqpoll with IoEngine::pread.
std::unique_ptr<KernelReadEngine> make_read_engine(IoEngine engine, std::vector<int> files,
                                                   const ReadEngineOptions& options);

// Why the kernel gives no ring.
struct UringRefusal {
  int error = 0;          // the errno; 0: it was not asked, there being no liburing
  const char* what = "";  // the system call, or what of it
};

using MakeInstead = std::function<std::unique_ptr<KernelReadEngine>(const UringRefusal&)>;

// The two implementations; make_uring_read_engine returns null and sets `refusal` where the kernel
// refuses. Where it does so later, the engine goes on with the one that `make_instead` gives;
// without it, the reads fail. A submission thread may hold reads that cannot be taken back: then
// they fail, too.
std::unique_ptr<KernelReadEngine> make_uring_read_engine(std::vector<int> files,
                                                         const ReadEngineOptions& options,
                                                         UringRefusal& refusal,
                                                         MakeInstead make_instead = nullptr);
std::unique_ptr<KernelReadEngine> make_pread_read_engine(std::vector<int> files,
                                                         const ReadEngineOptions& options);

// The request's own descriptor, or that of `files`.
inline int descriptor_of(const ReadRequest& request, const std::vector<int>& files) {
  return request.shard != nullptr ? request.shard->descriptor : files[request.file];
}

// ReadProgress: what to do after each system call of one read. Shared by the engines, so that they
// treat results alike.
class ReadProgress {
 public:
  ReadProgress() = default;
  explicit ReadProgress(const ReadRequest& request) : request_(request) {}

  const ReadRequest& request() const { return request_; }
  // What is still to be read.
  int64_t offset() const { return request_.offset + static_cast<int64_t>(num_done_); }
  size_t num_bytes() const { return request_.num_bytes - num_done_; }
  std::byte* buffer() const { return request_.buffer + num_done_; }

  // Takes the result of a call that read offset(), num_bytes(), buffer(): bytes or -errno. True
  // when the read is over.
  bool advance(int64_t result, const ReadEngineOptions& options);
  // Precondition: advance() returned true.
  ReadCompletion completion() const { return {request_.tag, result_, error_}; }
  // The read is over, whatever calls there were.
  void finish(int64_t result, std::exception_ptr error) {
    result_ = result;
    error_ = std::move(error);
  }

 private:
  ReadRequest request_;
  size_t num_done_ = 0;
  int num_failures_ = 0;
  int num_repeats_ = 0;  // since the last bytes
  int64_t result_ = 0;
  std::exception_ptr error_;
};

// FixedMemory: memory registered with io_uring, in regions: the kernel takes no larger ones than 1
// GiB. Arithmetic alone.
class FixedMemory {
 public:
  static constexpr size_t kMaxPieceBytes = size_t{1} << 30;

  FixedMemory() = default;
  explicit FixedMemory(std::span<std::byte> memory, size_t region_bytes = kMaxPieceBytes)
      : memory_(memory), region_bytes_(region_bytes) {}

  bool empty() const { return memory_.empty(); }

  std::vector<iovec> regions() const {
    std::vector<iovec> result;
    for (size_t at = 0; at < memory_.size(); at += region_bytes_) {
      result.push_back({memory_.data() + at, std::min(region_bytes_, memory_.size() - at)});
    }
    return result;
  }

  // The region that holds all of the buffer of `num_bytes` at `data`; -1 when none does.
  int find(const std::byte* data, size_t num_bytes) const {
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
    const auto at = reinterpret_cast<uintptr_t>(data);
    if (num_bytes == 0 || at < begin || num_bytes > memory_.size() ||
        at - begin > memory_.size() - num_bytes) {
      return -1;
    }
    const size_t region = (at - begin) / region_bytes_;
    return (at - begin + num_bytes - 1) / region_bytes_ == region ? static_cast<int>(region) : -1;
  }

 private:
  std::span<std::byte> memory_;
  size_t region_bytes_ = kMaxPieceBytes;
};

}  // namespace ffkit
