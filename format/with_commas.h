// Numbers as people read them: 1,281,167.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ffkit {

inline std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, ",");
  return digits;
}

}  // namespace ffkit
