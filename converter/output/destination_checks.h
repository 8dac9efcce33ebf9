// What every command that makes a data set folder checks, and what it adds to the errors of the
// system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/base/error.h>

namespace ffkit {

// Throws Error(invalid_argument) when `destination` lies inside one of `roots`, the folders that
// are read, or is one of them.
void refuse_destination_inside(const std::vector<std::filesystem::path>& roots,
                               const std::filesystem::path& destination);

// Bytes that the disk of `folder` has free; the largest number there is when it does not say.
int64_t free_space(const std::filesystem::path& folder);

// Throws Error(io) when the disk of `folder`, which exists, has less than `num_bytes` free.
void require_free_space(int64_t num_bytes, const std::filesystem::path& folder);

// The exception that is being handled as an Error, whatever it is: what the system and its
// libraries throw when a limit is met has no place behind a public function. `place` is named where
// the exception names no path of its own.
Error current_error(const std::filesystem::path& place);

// Calls `action` and returns what it returns; its exceptions as current_error() has them.
template <typename Action>
auto with_errors_of(const std::filesystem::path& place, const Action& action) {
  try {
    return action();
  } catch (...) {
    throw current_error(place);
  }
}

// `error` of a call that has removed what it wrote, with a remedy where there is one.
Error after_removal(const Error& error);

}  // namespace ffkit
