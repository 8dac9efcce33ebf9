#include "bitmaps/bmp_run_length.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/make_error.h"

namespace ffkit {
namespace {

class RunReader {
 public:
  RunReader(std::span<const std::byte> data, const BmpHeader& header, uint8_t* numbers)
      : data_(data),
        at_(header.pixels_begin),
        width_(header.width),
        height_(header.height),
        is_rle4_(header.bits == 4),
        numbers_(numbers) {}

  void read() {
    // The last row needs no end.
    while (y_ < height_ && (y_ + 1 < height_ || x_ < width_)) {
      const size_t count = next();
      const size_t value = next();
      if (count > 0) {
        repeat(count, static_cast<uint8_t>(value));
      } else if (value == 0) {
        x_ = 0;
        ++y_;
      } else if (value == 1) {
        return;
      } else if (value == 2) {
        x_ = std::min(width_, x_ + next());
        y_ += next();
      } else {
        copy(value);
      }
    }
  }

 private:
  size_t next() {
    if (at_ >= data_.size()) {
      throw error_of(
          ErrorCode::corrupt,
          "truncated BMP: its runs end in row {} of {}, with the file; get the file again", y_ + 1,
          height_);
    }
    return std::to_integer<size_t>(data_[at_++]);
  }

  uint8_t* here() { return numbers_ + y_ * width_ + x_; }

  // What goes past the row's end is left out, as everybody does it.
  void repeat(size_t count, uint8_t value) {
    count = std::min(count, width_ - x_);
    uint8_t* const out = here();
    if (is_rle4_) {
      for (size_t i = 0; i < count; ++i) out[i] = i % 2 == 0 ? value >> 4 : value & 15;
    } else {
      std::fill_n(out, count, value);
    }
    x_ += count;
  }

  void copy(size_t count) {
    if (count > width_ - x_) {
      throw_corrupt_bmp(fmt::format("{} pixels pass the end of row {} of {}", count - (width_ - x_),
                                    y_ + 1, height_));
    }
    uint8_t* const out = here();
    size_t byte = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!is_rle4_ || i % 2 == 0) byte = next();
      out[i] = static_cast<uint8_t>(!is_rle4_ ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
    }
    x_ += count;
    at_ += at_ % 2;  // of the file: pixels begin at an even place
  }

  std::span<const std::byte> data_;
  size_t at_;
  size_t x_ = 0;
  size_t y_ = 0;
  size_t width_;
  size_t height_;
  bool is_rle4_;
  uint8_t* numbers_;
};

}  // namespace

std::vector<uint8_t> decode_bmp_runs(std::span<const std::byte> data, const BmpHeader& header) {
  std::vector<uint8_t> numbers(static_cast<size_t>(header.width) *
                               static_cast<size_t>(header.height));
  RunReader(data, header, numbers.data()).read();
  return numbers;
}

}  // namespace ffkit
