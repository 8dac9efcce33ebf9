// Errors about files of a training run.
#pragma once

#include <filesystem>

#include <ffkit/base/error.h>

namespace ffkit {

// Returns what `read` returns. Its Error is about the checkpoint or weights `path`, unless it says
// what else it is about.
template <typename Read>
auto of_checkpoint(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw error.within({.path = path.string(), .subject = ErrorSubject::checkpoint});
  }
}

}  // namespace ffkit
