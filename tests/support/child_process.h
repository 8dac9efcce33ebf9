// Expectations in child processes, where GoogleTest's would be lost.
#pragma once

#include <stdio.h>
#include <unistd.h>

#include <string>

namespace ffkit::testing {

// Ends the process with status 1, saying what does not hold.
inline void expect(bool condition, const std::string& what) {
  if (condition) return;
  fprintf(stderr, "failed: %s\n", what.c_str());
  _exit(1);
}

}  // namespace ffkit::testing
