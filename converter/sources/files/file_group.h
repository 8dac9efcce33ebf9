// FileGroup: many files of which ranges are read, from many threads. The first ones stay open; of
// more than kMaxOpenFiles each is opened for each read, since a process may have 1,024 files open
// by default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "input/input_file.h"

namespace ffkit {

class FileGroup {
 public:
  static constexpr size_t kMaxOpenFiles = 256;

  explicit FileGroup(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {
    if (paths_.size() > kMaxOpenFiles) return;
    for (const std::filesystem::path& path : paths_) files_.emplace_back(path);
  }

  const std::vector<std::filesystem::path>& paths() const { return paths_; }

  // As InputFile::read_at.
  void read_at(size_t file, int64_t offset, std::span<std::byte> out) const {
    if (files_.empty()) {
      InputFile(paths_.at(file)).read_at(offset, out);
    } else {
      files_.at(file).read_at(offset, out);
    }
  }

 private:
  std::vector<std::filesystem::path> paths_;
  std::vector<InputFile> files_;
};

}  // namespace ffkit
