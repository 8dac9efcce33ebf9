// KernelReadEngine: the loader's own implementations of ReadEngine, io_uring and a pool of pread
// threads.
//
// Short reads are continued, EINTR and EAGAIN repeated, EIO repeated num_retries times. The -errno
// of a completion may be that of a kernel that has taken no read for a second. With io_uring,
// buffer_memory is registered with the kernel where that is allowed (within RLIMIT_MEMLOCK), once
// as many bytes have been read as it has; the kernel then does not look up the pages of each read
// anew. Buffers elsewhere are read to as well.
#pragma once

#include <functional>
#include <memory>
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

}  // namespace ffkit
