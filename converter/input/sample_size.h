// The limit of a sample's bytes, which --max-sample-bytes sets.
#pragma once

#include <cstdint>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"

namespace ffkit {

// Throws Error(unsupported), at `where`, for a sample with more than `max_bytes`.
inline void require_sample_size(int64_t num_bytes, int64_t max_bytes,
                                const ErrorContext& where = {}) {
  if (num_bytes <= max_bytes) return;
  throw error_of(ErrorCode::unsupported,
                 "has {} bytes, and a sample may have {}; take it away, or raise the limit with {}",
                 num_bytes, max_bytes, option_name("max_sample_bytes"))
      .within(where);
}

}  // namespace ffkit
