// Text files line by line, such as lists of classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

// Lists of classes that a user gives: a text file with the name of one class a line. Throws
// Error(invalid_argument) for a file without lines, with an empty one, or that is no UTF-8 text;
// Error(unsupported) for one of more than 64 MiB.
std::vector<std::string> read_class_list(const std::filesystem::path& path);

}  // namespace ffkit
