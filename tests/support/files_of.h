// All files below a folder, name by name, to compare two folders by their bytes.
#pragma once

#include <filesystem>
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

}  // namespace ffkit::testing
