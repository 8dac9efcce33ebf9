// errors_only: the edge of the library, behind which the failures of the standard library are
// Errors too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {

// Throws the exception that is being handled again: Errors as they are; memory that there is not,
// and what <filesystem> and <system_error> say, as an Error of `path` and `record`; `remedy` says
// how less memory is needed, or more had. Anything else, such as what a user's own code throws, as
// it is.
[[noreturn]] void rethrow_as_error(const std::filesystem::path& path, int64_t record,
                                   const char* remedy);

// Whether memory ran out, as rethrow_as_error() says it: then it is not the data that is bad.
bool is_out_of_memory(const Error& error);

inline constexpr const char* kMemoryForRecords =
    "read with fewer threads, or give the process more (ulimit -v, or its container)";
inline constexpr const char* kMoreMemory = "give the process more (ulimit -v, or its container)";

// Calls `work` and returns what it returns; its exceptions as rethrow_as_error() has them.
template <typename Work>
auto errors_only(const std::filesystem::path& path, int64_t record, const char* remedy, Work&& work)
    -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    rethrow_as_error(path, record, remedy);
  }
}

template <typename Work>
auto errors_only(const std::filesystem::path& path, Work&& work) -> decltype(work()) {
  return errors_only(path, -1, kMoreMemory, std::forward<Work>(work));
}

}  // namespace ffkit
