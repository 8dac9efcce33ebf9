// PnmHeader: what the header of netpbm's PBM, PGM and PPM says, and the numbers of those that are
// text. The layout is that of netpbm's pbm(5), pgm(5) and ppm(5): "P1" to "P6", width, height and
// (not in PBM) the largest value as decimal numbers between white space, comments from # to the end
// of the line; then one white space and rows without padding, or more numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ffkit/image/image_info.h>

namespace ffkit {

// Reads decimal numbers between white space and comments.
class PnmText {
 public:
  PnmText(std::span<const std::byte> data, size_t begin);

  // The next number; -1 where there is none, or none that fits an int. Throws Error(corrupt) for a
  // comment that begins right behind a number: some programs take the number as ended there, some
  // not.
  int64_t number();
  // The next character that is neither white space nor comment, or -1 at the end.
  int character();
  bool is_at_end() const { return at_ == text_.size(); }
  // Behind what was read last.
  size_t position() const { return at_; }

 private:
  void skip_space();

  std::string_view text_;
  size_t at_;
};

struct PnmHeader {
  ImageInfo info;
  bool is_text = false;
  bool is_bitmap = false;  // PBM: a bit a pixel, 1 is black
  int max_value = 1;
  size_t row_bytes = 0;  // of a binary one
  size_t num_bytes = 0;  // of the header; then come the pixels
};

// True when `data` begins as one of the six does.
bool is_pnm(std::span<const std::byte> data);
// Throws Error(corrupt), also when there is less data than pixels.
PnmHeader read_pnm_header(std::span<const std::byte> data);

}  // namespace ffkit
