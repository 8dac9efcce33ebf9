// What is in a folder: all files below it, name by name, to compare two folders by their bytes; and
// how many entries it has, such as /proc/self/fd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>

#include "text_file.h"

namespace ffkit::testing {

// From each file's path relative to `folder` to its content.
inline std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder)] = read_file(entry.path());
    }
  }
  return files;
}

inline int64_t count_entries(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

}  // namespace ffkit::testing
