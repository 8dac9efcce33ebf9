// BufferedWriter: appends to a File or a FileSink through a buffer, so that small records do not
// cost a system call each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ffkit {

template <typename Out>
class BufferedWriter {
 public:
  // `file` is empty and at its beginning.
  explicit BufferedWriter(std::unique_ptr<Out> file) : file_(std::move(file)) {
    buffer_.reserve(kBufferBytes);
  }

  // Throws Error(io).
  void write(std::span<const std::byte> data) {
    if (buffer_.size() + data.size() > kBufferBytes) flush();
    if (data.size() >= kBufferBytes) {
      file_->write(data);
    } else {
      buffer_.insert(buffer_.end(), data.begin(), data.end());
    }
    end_ += std::ssize(data);
  }
  // Writes zeros up to `offset` of the file.
  void pad_to(int64_t offset) {
    static constexpr std::array<std::byte, 4096> kZeros{};
    while (end_ < offset) {
      write(std::span(kZeros).first(static_cast<size_t>(std::min<int64_t>(4096, offset - end_))));
    }
  }
  void flush() {
    file_->write(buffer_);
    buffer_.clear();
  }

  // Bytes so far, written or in the buffer.
  int64_t end() const { return end_; }
  // What is done to the file itself comes after flush().
  Out& file() { return *file_; }

 private:
  static constexpr size_t kBufferBytes = 1 << 20;

  std::unique_ptr<Out> file_;
  std::vector<std::byte> buffer_;
  int64_t end_ = 0;
};

}  // namespace ffkit
