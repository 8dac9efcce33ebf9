// Text files line by line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace ffkit {

// Calls body(line, number) with every line, counted from 1, without its "\n" or "\r\n". The last
// line may lack it.
template <typename Body>
void for_each_line(std::string_view text, const Body& body) {
  for (int64_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    body(line, number);
  }
}

}  // namespace ffkit
