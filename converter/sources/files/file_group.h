// FileGroup: many files of which ranges are read, from many threads. Up to kMaxOpenFiles stay open.
// Of more, each is opened for each read, since a process may have 1,024 files open by default; it
// must then be as it was at first.
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

  // Opens each. Throws as InputFile.
  explicit FileGroup(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {
    for (const std::filesystem::path& path : paths_) {
      InputFile file(path);
      stamps_.push_back(file.stamp());
      if (keeps_open()) files_.push_back(std::move(file));
    }
  }
  // The same of files that were listed with `stamps`; opens those that stay open.
  FileGroup(std::vector<std::filesystem::path> paths, std::vector<FileStamp> stamps)
      : paths_(std::move(paths)), stamps_(std::move(stamps)) {
    for (size_t i = 0; i < paths_.size() && keeps_open(); ++i) {
      files_.emplace_back(paths_[i]).require(stamps_[i]);
    }
  }

  const std::vector<std::filesystem::path>& paths() const noexcept { return paths_; }
  // Of the files when the group was made.
  const std::vector<FileStamp>& stamps() const noexcept { return stamps_; }

  // Calls use(InputFile) with file number `file`, and returns what that returns. Throws
  // Error(not_found) when it is another one than before.
  template <typename Use>
  auto with(size_t file, const Use& use) const {
    if (!files_.empty()) return use(files_.at(file));
    const InputFile opened(paths_.at(file));
    opened.require(stamps_[file]);
    return use(opened);
  }
  // As InputFile::read_at.
  void read_at(size_t file, int64_t offset, std::span<std::byte> out) const {
    with(file, [&](const InputFile& opened) { opened.read_at(offset, out); });
  }

 private:
  bool keeps_open() const noexcept { return paths_.size() <= kMaxOpenFiles; }

  std::vector<std::filesystem::path> paths_;
  std::vector<FileStamp> stamps_;
  std::vector<InputFile> files_;
};

}  // namespace ffkit
