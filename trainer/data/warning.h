// Warnings of a run.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

namespace ffkit {

// Whatever fftrain prints elsewhere: a run that sees other records than it was given says so.
inline void warn_on_stderr(const std::string& sentence) {
  fmt::print(stderr, "fftrain: warning: {}\n", sentence);
}

// At the end of an evaluation: how many of the samples of `data` this process has left out.
inline void warn_of_left_out(const std::filesystem::path& data, int64_t num_bad, int64_t num_all) {
  if (num_bad == 0) return;
  warn_on_stderr(fmt::format("{}: {} of {} samples {} bad and left out", data.string(), num_bad,
                             num_all, num_bad == 1 ? "is" : "are"));
}

}  // namespace ffkit
