// What fuzz targets do with what they were given.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>

namespace ffkit::fuzzing {

inline volatile unsigned sink;

// Touches every byte, so that AddressSanitizer sees what a view covers.
inline void touch(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
  sink = sum;
}

// Errors are expected.
template <typename Step>
void attempt(const Step& step) {
  try {
    step();
  } catch (const Error&) {
  }
}

}  // namespace ffkit::fuzzing
