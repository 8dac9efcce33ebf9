// Spool: a temporary file that has no name, and so is gone whatever becomes of the process. Written
// by one thread from front to back, then read from many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "converter/input/input_file.h"

namespace ffkit {

class Spool {
 public:
  // In `folder`, or its nearest parent that is there; where that cannot be written to, or is empty,
  // in $TMPDIR or /tmp. Throws Error(io).
  explicit Spool(const std::filesystem::path& folder);

  // Where it is.
  const std::filesystem::path& folder() const noexcept { return file_.path(); }
  int64_t size() const noexcept { return size_; }

  // Throws Error(io), with a remedy when the disk is full.
  void append(std::span<const std::byte> bytes);
  // Reads exactly out.size() bytes, which have been written; throws as File::read_at().
  void read_at(int64_t offset, std::span<std::byte> out) const { file_.read_at(offset, out); }
  // Gives the file away, to be read as any other; `name` stands for it in messages. Nothing else
  // may be called after that.
  InputFile release(const std::filesystem::path& name) {
    return InputFile(File::adopt(file_.release(), name));
  }

 private:
  File file_;  // called as its folder
  int64_t size_ = 0;
};

}  // namespace ffkit
