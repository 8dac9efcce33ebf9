// LmdbBlocks: the pages of an LMDB file, read in blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "sources/rows/read_bytes.h"

namespace ffkit {

// Of a store, where each read would be a request: blocks of 4 MiB, one kept.
class LmdbBlocks {
 public:
  LmdbBlocks(int64_t num_bytes, const ReadBytes& read) : num_bytes_(num_bytes), read_(read) {}

  void read_at(int64_t offset, std::span<std::byte> out) {
    constexpr int64_t kLeastBytes = 4 << 20;
    if (offset < begin_ || offset + std::ssize(out) > begin_ + std::ssize(block_)) {
      const int64_t wanted = std::max(kLeastBytes, std::ssize(out));
      block_.resize(static_cast<size_t>(std::min(wanted, num_bytes_ - offset)));
      begin_ = offset;
      read_(offset, block_);
    }
    std::memcpy(out.data(), block_.data() + (offset - begin_), out.size());
  }

 private:
  const int64_t num_bytes_;
  const ReadBytes& read_;
  int64_t begin_ = 0;
  std::vector<std::byte> block_;
};

}  // namespace ffkit
