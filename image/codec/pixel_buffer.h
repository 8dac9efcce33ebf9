// PixelBuffer: memory that only grows and keeps no contents, for pixels decoded one picture after
// another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ffkit {

class PixelBuffer {
 public:
  // Readable bytes behind the last pixel: vector code may load whole registers at the end of a row.
  static constexpr size_t kSlackBytes = 64;

  // Where it begins: kOffset bytes behind a multiple of kAlignment. libjpeg-turbo writes rows that
  // begin at a multiple of 32 past the caches (vmovntdq), from where the resize that follows has to
  // fetch them again: a third more time in libjpeg, 3 % of a picture's.
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kOffset = 16;

  // Returns at least `num_bytes` writable bytes plus the slack; what was there before is lost.
  uint8_t* reserve(size_t num_bytes) {
    // One huge picture must not hold on to its memory while small ones follow.
    const bool too_large = capacity_ > kKeptBytes && num_bytes <= kKeptBytes;
    if (num_bytes > capacity_ || too_large) {
      bytes_.reset();
      capacity_ = 0;
      bytes_ = std::make_unique_for_overwrite<uint8_t[]>(num_bytes + kSlackBytes + kAlignment);
      capacity_ = num_bytes;
    }
    const size_t misaligned = (reinterpret_cast<uintptr_t>(bytes_.get()) - kOffset) % kAlignment;
    return bytes_.get() + (misaligned == 0 ? 0 : kAlignment - misaligned);
  }

 private:
  static constexpr size_t kKeptBytes = size_t{32} << 20;
  std::unique_ptr<uint8_t[]> bytes_;
  size_t capacity_ = 0;
};

}  // namespace ffkit
