// RgbImage: pixels that may be changed. Also a colour, and the size of a picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ffkit {

// Height and width in pixels. One number stands for a square: `.size = 224`, `.size = {192, 256}`.
struct ImageSize {
  constexpr ImageSize(int64_t side) : height(side), width(side) {}
  constexpr ImageSize(int64_t h, int64_t w) : height(h), width(w) {}
  bool operator==(const ImageSize&) const = default;

  int64_t height;
  int64_t width;
};

using RgbColor = std::array<uint8_t, 3>;

// Pixels [height, width, 3] u8 RGB, without gaps between rows. Does not own them.
struct RgbImage {
  uint8_t* data = nullptr;
  int width = 0;
  int height = 0;

  [[nodiscard]] size_t num_bytes() const {
    return 3 * static_cast<size_t>(width) * static_cast<size_t>(height);
  }
  [[nodiscard]] uint8_t* row(int y) const { return data + ptrdiff_t{3} * width * y; }
};

}  // namespace ffkit
