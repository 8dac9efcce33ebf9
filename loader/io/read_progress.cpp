#include "io/read_progress.h"

#include <errno.h>

namespace ffkit {
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
