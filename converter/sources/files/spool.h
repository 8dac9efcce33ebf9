// Spool: a temporary file that has no name, and so is gone whatever becomes of the process. Written
// by one thread from front to back, then read from many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "input/input_file.h"

namespace ffkit {

class Spool {
 public:
  // In `folder`, or its nearest parent that is there; where that cannot be written to, or is empty,
  // in $TMPDIR or /tmp. Throws Error(io).
  explicit Spool(const std::filesystem::path& folder);
  ~Spool();
  Spool(Spool&& other) noexcept;
  Spool& operator=(Spool&&) = delete;

  // Where it is.
  const std::filesystem::path& folder() const { return folder_; }
  int64_t size() const { return size_; }

  // Throws Error(io), with a remedy when the disk is full.
  void append(std::span<const std::byte> bytes);
  // Reads exactly out.size() bytes, which have been written; throws Error(io).
  void read_at(int64_t offset, std::span<std::byte> out) const;
  // Gives the file away, to be read as any other; `name` stands for it in messages. Nothing else
  // may be called after that.
  InputFile release(const std::filesystem::path& name) { return {std::exchange(fd_, -1), name}; }

 private:
  std::filesystem::path folder_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace ffkit
