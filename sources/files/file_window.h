// A file's bytes, by a function that reads them, and in blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

// How the readers of formats get at a file's bytes: by a function, so that they know neither files
// nor what these are decompressed to. Reads exactly out.size() bytes at an offset.
using ReadBytes = std::function<void(int64_t offset, std::span<std::byte> out)>;

// FileWindow: a file's bytes in blocks, of which one is kept, for those who look at a file from
// front to back, or at places in it, in small pieces. Not thread-safe.
class FileWindow {
 public:
  // Reads `block_bytes` or more at once: twice as many each time where a block follows the one
  // before it, up to `most_bytes`. `read`, of a file of `num_bytes`, must outlive this object.
  FileWindow(int64_t num_bytes, const ReadBytes& read, size_t block_bytes, size_t most_bytes)
      : num_bytes_(num_bytes),
        read_(read),
        least_(block_bytes),
        most_(std::max(block_bytes, most_bytes)),
        block_bytes_(block_bytes) {}

  int64_t num_bytes() const { return num_bytes_; }

  // The bytes [offset, offset + count), or as many as there are, until the next call.
  std::span<const std::byte> at(int64_t offset, size_t count) {
    if (offset >= num_bytes_) return {};
    count = static_cast<size_t>(std::min(static_cast<int64_t>(count), num_bytes_ - offset));
    const int64_t end = begin_ + std::ssize(bytes_);
    if (offset < begin_ || offset + static_cast<int64_t>(count) > end) {
      block_bytes_ = offset >= begin_ && offset <= end ? std::min(2 * block_bytes_, most_) : least_;
      load(offset, count);
    }
    return std::span<const std::byte>(bytes_).subspan(static_cast<size_t>(offset - begin_), count);
  }

 private:
  void load(int64_t offset, size_t count) {
    const auto wanted =
        std::min(static_cast<int64_t>(std::max(count, block_bytes_)), num_bytes_ - offset);
    bytes_.resize(static_cast<size_t>(wanted));
    begin_ = offset;
    read_(offset, bytes_);
  }

  const int64_t num_bytes_;
  const ReadBytes& read_;
  const size_t least_;
  const size_t most_;
  size_t block_bytes_;
  int64_t begin_ = 0;
  std::vector<std::byte> bytes_;
};

// The hashes by which other libraries know a file, by Python's names of them ("sha1", "blake2b").

// The hexadecimal digits of the hash of the first `num_bytes` of what `read` reads; nothing for a
// hash that OpenSSL has not, such as xxHash. Reads in blocks of 1 MiB.
std::optional<std::string> hash_of_file(std::string_view algorithm, int64_t num_bytes,
                                        const ReadBytes& read);
// Whether there is one.
bool is_known_hash(std::string_view algorithm);

}  // namespace ffkit
