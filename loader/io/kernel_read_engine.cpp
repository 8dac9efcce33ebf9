#include "io/kernel_read_engine.h"

#include <errno.h>
#include <fmt/format.h>

#include <mutex>
#include <string>
#include <system_error>

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
                  "io.sqpoll belongs to io_uring and cannot be had with the pread engine");
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
                            "goes on reading",
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
                    "io.sqpoll was asked for, but the kernel refuses a submission thread; leave "
                    "it off, or give the process what the kernel wants (CAP_SYS_NICE before "
                    "Linux 5.13)",
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
                "io_uring was asked for, but ffkit was built without liburing; build it with "
                "liburing 2.1 or newer or use the pread engine");
  }
  if (engine == IoEngine::io_uring) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("io_uring was asked for, but the kernel refuses {}; allow it (containers often "
                    "block it by seccomp, see also /proc/sys/kernel/io_uring_disabled) or use the "
                    "pread engine",
                    refusal.what),
        {.errno_value = refusal.error});
  }
  static std::once_flag said;
  warn_once(said, options,
            fmt::format("io_uring is not available here ({}: {}); reading with a pool of pread "
                        "threads instead",
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

}  // namespace ffkit
