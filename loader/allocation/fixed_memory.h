// FixedMemory: memory registered with io_uring, in regions: the kernel takes no larger ones than 1
// GiB. Arithmetic alone.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ffkit {

class FixedMemory {
 public:
  static constexpr size_t kMaxPieceBytes = size_t{1} << 30;

  FixedMemory() = default;
  explicit FixedMemory(std::span<std::byte> memory, size_t region_bytes = kMaxPieceBytes)
      : memory_(memory), region_bytes_(region_bytes) {}

  bool empty() const { return memory_.empty(); }

  std::vector<iovec> regions() const {
    std::vector<iovec> result;
    for (size_t at = 0; at < memory_.size(); at += region_bytes_) {
      result.push_back({memory_.data() + at, std::min(region_bytes_, memory_.size() - at)});
    }
    return result;
  }

  // The region that holds all of the buffer of `num_bytes` at `data`; -1 when none does.
  int find(const std::byte* data, size_t num_bytes) const {
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
    const auto at = reinterpret_cast<uintptr_t>(data);
    if (num_bytes == 0 || at < begin || num_bytes > memory_.size() ||
        at - begin > memory_.size() - num_bytes) {
      return -1;
    }
    const size_t region = (at - begin) / region_bytes_;
    return (at - begin + num_bytes - 1) / region_bytes_ == region ? static_cast<int>(region) : -1;
  }

 private:
  std::span<std::byte> memory_;
  size_t region_bytes_ = kMaxPieceBytes;
};

}  // namespace ffkit
