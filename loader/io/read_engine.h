// ReadEngine: many reads at once, completed in any order. Two implementations of one contract: io_uring and a pool of pread threads.
//
//   submit() submit() submit() ─▶ kernel or threads ─▶ wait() ─▶ {tag, result} {tag, result}
//
// Short reads are continued, EINTR and EAGAIN repeated, EIO repeated num_retries times. A completion's result is the number
// of bytes read, less than asked for only at the end of the file, or -errno: of the read, or of a kernel that has taken no read for a
// second. Destruction waits for the reads in flight.
// Not thread-safe: one thread at a time, but not always the same. Only name() and description() may be called by any thread meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/loader/io_options.h>

#include "threads/loader_log.h"

namespace ffkit {

struct ReadRequest {
  int file = 0;  // position in the engine's files
  int64_t offset = 0;
  size_t num_bytes = 0;
  std::byte* buffer =
      nullptr;  // must stay until the completion; with O_DIRECT offset, num_bytes and buffer are aligned
  uint64_t tag = 0;  // the caller's, given back in the completion
};

struct ReadCompletion {
  uint64_t tag = 0;
  int64_t result = 0;  // bytes read, or -errno
};

struct ReadEngineOptions {
  int queue_depth = 64;  // most reads in flight
  int num_retries = 3;   // of a read that fails with EIO
  size_t alignment =
      1;  // of offsets, lengths and buffers: 1 through the page cache, else what O_DIRECT demands
  // Memory that most buffers lie in. Once as many bytes have been read as it has, it is registered with the kernel where that is
  // allowed (io_uring, within RLIMIT_MEMLOCK), which then does not look up the pages of each read anew. Must stay as long as the
  // engine. Buffers elsewhere are read to as well.
  std::span<std::byte> buffer_memory = {};
  bool sqpoll = false;               // see IoOptions
  WarningSink on_warning = nullptr;  // of the loader; null: spdlog's default logger, once a process
};

class ReadEngine {
 public:
  virtual ~ReadEngine() = default;
  ReadEngine(const ReadEngine&) = delete;
  ReadEngine& operator=(const ReadEngine&) = delete;

  virtual const char* name() const = 0;  // "io_uring" or "pread"
  // The name and what the kernel has granted so far: "io_uring (fixed files, fixed buffers, sqpoll)".
  virtual std::string description() const { return name(); }
  int queue_depth() const { return options_.queue_depth; }
  int num_in_flight() const { return num_in_flight_; }

  // Takes a read; it need not start before wait(). Precondition: num_in_flight() < queue_depth(). Throws Error(io) when the kernel takes
  // no reads.
  virtual void submit(const ReadRequest& request) = 0;
  // Starts what has been submitted, blocks until at least one read has completed and returns all that have; valid until the
  // next call. Precondition: num_in_flight() > 0. Throws Error(io) when the kernel takes no reads at all any more.
  std::span<const ReadCompletion> wait() { return wait_for(1); }
  // Likewise, but more than one completion may be waited for, `wanted` at most: each return then brings more of them.
  virtual std::span<const ReadCompletion> wait_for(int wanted) = 0;

 protected:
  explicit ReadEngine(const ReadEngineOptions& options) : options_(options) {}

  const ReadEngineOptions options_;
  int num_in_flight_ = 0;
};

// `files` are open file descriptors; they must stay open as long as the engine. Throws Error(unsupported) for
// IoEngine::io_uring where the kernel refuses it, or refuses sqpoll; IoEngine::automatic then goes without and says so once in the
// log. Throws Error(invalid_argument) for sqpoll with IoEngine::pread.
std::unique_ptr<ReadEngine> make_read_engine(IoEngine engine, std::vector<int> files,
                                             const ReadEngineOptions& options);

// The two implementations; make_uring_read_engine returns null and sets `error` to the errno of a kernel that refuses.
std::unique_ptr<ReadEngine> make_uring_read_engine(std::vector<int> files,
                                                   const ReadEngineOptions& options, int& error);
std::unique_ptr<ReadEngine> make_pread_read_engine(std::vector<int> files,
                                                   const ReadEngineOptions& options);

}  // namespace ffkit
