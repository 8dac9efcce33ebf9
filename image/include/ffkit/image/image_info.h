// Facts of an encoded picture, and the layout of its pixels in memory. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ffkit/base/enum_names.h>

namespace ffkit {

// ppm: netpbm's PPM, PGM and PBM, binary (P4, P5, P6) and as text (P1, P2, P3), with values up to
// 65535. bmp: 1, 4, 8, 16, 24 or 32 bits a pixel, plain, with masks or run-length encoded, with the
// headers of Windows and OS/2. webp: the first picture of an animation. dct: the dct code of a
// JPEG.
enum class ImageEncoding : uint8_t { unknown, jpeg, png, webp, bmp, ppm, dct };
template <>
inline constexpr auto kNames<ImageEncoding> =
    enum_names<ImageEncoding>("image encoding", {{ImageEncoding::unknown, "unknown"},
                                                 {ImageEncoding::jpeg, "jpeg"},
                                                 {ImageEncoding::png, "png"},
                                                 {ImageEncoding::webp, "webp"},
                                                 {ImageEncoding::bmp, "bmp"},
                                                 {ImageEncoding::ppm, "ppm"},
                                                 {ImageEncoding::dct, "dct"}});

struct ImageInfo {
  ImageEncoding encoding = ImageEncoding::unknown;
  int width = 0;
  int height = 0;
  int num_components = 0;     // as stored: 1 grey, 3 colour, 4 CMYK or RGBA, ...
  bool has_16_bits = false;   // a channel: a PNG of 16 bits, a PPM or PGM with values above 255
  bool is_animation = false;  // its first picture is taken
  bool is_raw = false;        // RGB as encode_ppm() writes it
  bool has_palette = false;   // a PNG whose pixels are numbers of colours
};

// Pixels [height, width, 3] u8 RGB, rows `stride` bytes apart. Does not own them. In results of
// ImageDecoder, 64 bytes after the last row may be read, so that vector registers can be loaded at
// the end of a row. Their values mean nothing.
struct RgbView {
  const uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;
};

// Pixels [height, width, 3] u16 RGB, rows `stride` values apart. Does not own them.
struct WideRgbView {
  const uint16_t* data = nullptr;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;
};

// A rectangle of pixels. x, y is its top left corner.
struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

// RgbImage: pixels that may be changed. Also a colour, and the size of a picture.

// Height and width in pixels. One number means a square: `.size = 224`, `.size = {192, 256}`.
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
