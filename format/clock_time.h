// Durations as people write them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace ffkit {

// `seconds` >= 0 as "1:23" or "2:01:23".
inline std::string clock_time(int64_t seconds) {
  const int64_t minutes = seconds / 60;
  return minutes < 60 ? fmt::format("{}:{:02}", minutes, seconds % 60)
                      : fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, seconds % 60);
}

}  // namespace ffkit
