// Cancelling: a flag that a signal handler may set, as the options carry it; null: never.
#pragma once

#include <atomic>

#include <ffkit/base/error.h>

namespace ffkit {

inline constexpr const char* kCancelled = "stopped on request";

inline bool is_cancelled(const std::atomic<bool>* cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

// Throws Error(cancelled) once it is set.
inline void throw_if_cancelled(const std::atomic<bool>* cancel) {
  if (is_cancelled(cancel)) throw Error(ErrorCode::cancelled, kCancelled);
}

}  // namespace ffkit
