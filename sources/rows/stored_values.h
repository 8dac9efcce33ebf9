// Values as MosaicML's and LitData's writers store them: lists of pictures, Pillow's pixels,
// arrays. Pure functions. What is damaged is Error(corrupt), and what has no field
// Error(unsupported), without a path: who reads a row knows where it is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/record.h>

#include "base/make_error.h"

namespace ffkit {

// Bytes read from the front.
class StoredBytes {
 public:
  explicit StoredBytes(std::span<const std::byte> bytes) : rest_(bytes) {}

  size_t size() const { return rest_.size(); }
  // All that is left.
  std::span<const std::byte> rest() const { return rest_; }

  std::span<const std::byte> take(uint64_t num_bytes) {
    if (num_bytes > rest_.size()) {
      throw error_of(ErrorCode::corrupt,
                     "the data are cut short: {} bytes are needed, but {} bytes are left",
                     num_bytes, rest_.size());
    }
    const auto taken = rest_.first(static_cast<size_t>(num_bytes));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  // A little-endian number.
  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  // An unsigned number of `num_bytes` (1 .. 8), little-endian.
  uint64_t unsigned_number(size_t num_bytes) {
    uint64_t value = 0;
    std::memcpy(&value, take(num_bytes).data(), num_bytes);
    return value;
  }
  // A big-endian number.
  uint32_t big_endian_number() { return __builtin_bswap32(number<uint32_t>()); }
  // Throws where something is left.
  void require_end() const {
    if (rest_.empty()) return;
    throw error_of(ErrorCode::corrupt, "{} bytes follow the end of the data", rest_.size());
  }

 private:
  static_assert(std::endian::native == std::endian::little);
  std::span<const std::byte> rest_;
};

// The bits of a scalar of `num_bytes` bytes, in the low bytes.
uint64_t stored_scalar(std::span<const std::byte> bytes, size_t num_bytes);

// `data` as an array of `shape`; throws unless it has exactly so many bytes.
TensorView stored_tensor(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> data);

// u32 count, u32 sizes[count], the items.
std::vector<std::span<const std::byte>> stored_items(std::span<const std::byte> bytes);

// A picture of Pillow: u32 width, height and length of the mode, the mode, raw pixels. Returns it
// encoded without a loss: RGB as a PPM, what has one channel (L, P, 1, I;16, I) as a grey PNG. What
// is lost is reported to `buffers`: alpha, and the palette of P, which such files lack.
std::span<const std::byte> stored_pillow(std::span<const std::byte> bytes, SampleBuffers& buffers);
// What stored_pillow() does, for notes.
inline constexpr const char* kPillowStored =
    "contains Pillow's raw pixels, stored without a loss: RGB as PPM, and one channel as PNG";

}  // namespace ffkit
