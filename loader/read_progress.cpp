#include "read_progress.h"

#include <errno.h>

namespace ffkit {

bool ReadProgress::advance(int64_t result, const ReadEngineOptions& options) {
  // ECANCELED: nobody here cancels reads, but io_uring does when signals keep it from starting the thread that one needs.
  if (result == -EINTR || result == -EAGAIN || result == -ECANCELED) return false;
  if (result == -EIO && num_failures_ < options.num_retries) {
    ++num_failures_;
    return false;
  }
  if (result < 0) {
    result_ = result;
    return true;
  }
  num_done_ += static_cast<size_t>(result);
  result_ = static_cast<int64_t>(num_done_);
  // O_DIRECT stops between two multiples of the alignment only at the end of the file, and cannot go on from there.
  return result == 0 || num_bytes() == 0 || num_done_ % options.alignment != 0;
}

}  // namespace ffkit
