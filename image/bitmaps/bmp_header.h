// BmpHeader: what a BMP's headers say, checked against the file's size. The layout is that of
// Microsoft's "Bitmap storage": a file header of 14 bytes, a header whose size tells its version
// (12 and 64 bytes are OS/2's), masks of colours, a palette, rows of a multiple of 4 bytes.
//
// Programs write the place of the pixels, the size of the palette and the end of the last row in
// wrong ways that everybody reads. Where they are wrong, they are taken as Pillow takes them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace ffkit {

struct BmpHeader {
  int width = 0;
  int height = 0;
  bool is_top_down = false;
  int bits = 0;                              // of a pixel: 1, 4, 8, 16, 24 or 32
  bool is_run_length = false;                // RLE8 or RLE4, by the bits
  bool has_6_bits_of_green = false;          // of 16: 5, 6 and 5, not 5 of each
  std::array<size_t, 3> places = {2, 1, 0};  // of red, green and blue in a pixel of 24 or 32 bits
  size_t stride = 0;
  size_t palette_begin = 0;
  size_t color_bytes = 4;  // of a colour in the palette
  size_t num_colors = 0;   // that the file gives; pixels may have higher numbers
  size_t pixels_begin = 0;
};

// True when `data` begins as a BMP: "BM" alone begins texts too, so the size of the second header
// has to be one that there is.
bool is_bmp(std::span<const std::byte> data);
// Throws Error(corrupt), also when there is less data than pixels, and Error(unsupported) for kinds
// that are not handled.
BmpHeader read_bmp_header(std::span<const std::byte> data);

[[noreturn]] void throw_corrupt_bmp(const std::string& what);

}  // namespace ffkit
