// Warnings of a run.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace ffkit {

// Whatever fftrain prints elsewhere: a run that sees other records than it was given says so.
inline void warn_on_stderr(const std::string& sentence) {
  fmt::print(stderr, "fftrain: warning: {}\n", sentence);
}

}  // namespace ffkit
