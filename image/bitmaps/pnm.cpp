// netpbm's PBM, PGM and PPM. The layout is that of pbm(5), pgm(5) and ppm(5): "P1" to "P6", width,
// height and (not in PBM) the largest value as decimal numbers between white space, comments from #
// to the end of the line; then one white space and rows without padding, or more numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/make_error.h"
#include "bitmaps/bitmaps.h"

namespace ffkit {
namespace {

constexpr int kMaxPnmValue = 65535;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Reads decimal numbers between white space and comments.
class PnmText {
 public:
  PnmText(std::span<const std::byte> data, size_t begin)
      : text_(reinterpret_cast<const char*>(data.data()), data.size()), at_(begin) {}

  // The next number; -1 where there is none, or none that fits an int. Throws Error(corrupt) for a
  // comment that begins right behind a number: some programs take the number as ended there, some
  // not.
  int64_t number() {
    skip_space();
    const size_t begin = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value <= INT32_MAX) {
      value = 10 * value + (text_[at_++] - '0');
    }
    if (at_ == begin || value > INT32_MAX) return -1;
    if (at_ < text_.size() && text_[at_] == '#') {
      throw error_of(ErrorCode::corrupt,
                     "broken PPM: a comment begins inside the number {} in its header; write a "
                     "space before the '#'",
                     text_.substr(begin, at_ - begin));
    }
    return value;
  }
  // The next character that is neither white space nor comment, or -1 at the end.
  int character() {
    skip_space();
    return at_ < text_.size() ? static_cast<unsigned char>(text_[at_++]) : -1;
  }
  bool is_at_end() const { return at_ == text_.size(); }
  // Behind what was read last.
  size_t position() const { return at_; }

 private:
  void skip_space() {
    for (bool is_comment = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') is_comment = true;
      if (c == '\n' || c == '\r') is_comment = false;
      if (!is_comment && !is_space(c)) return;
    }
  }

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

int header_number(PnmText& text, const char* what) {
  const int64_t number = text.number();
  if (number < 1) {
    throw error_of(ErrorCode::corrupt, "broken PPM: its header has no valid {}; get the file again",
                   what);
  }
  return static_cast<int>(number);
}

void check_length(std::span<const std::byte> data, const PnmHeader& header) {
  const ImageInfo& info = header.info;
  const auto available = static_cast<int64_t>(data.size() - header.num_bytes);
  int64_t row_bytes = static_cast<int64_t>(header.row_bytes);
  if (header.is_text) {
    // Digits of a PBM need no space between them, numbers do: but for the last one.
    row_bytes = int64_t{info.width} * info.num_components * (header.is_bitmap ? 1 : 2);
  }
  const int64_t last_space = header.is_text && !header.is_bitmap ? 1 : 0;
  if ((available + last_space) / row_bytes < info.height) {
    throw error_of(ErrorCode::corrupt,
                   "truncated PPM: {} bytes after its header are too few for {} x {} pixels; get "
                   "the file again",
                   available, info.width, info.height);
  }
}

// Throws Error(corrupt), also when there is less data than pixels.
PnmHeader read_pnm_header(std::span<const std::byte> data) {
  const int kind = std::to_integer<int>(data[1]) - '0';
  PnmText text(data, 2);
  PnmHeader header;
  header.is_text = kind <= 3;
  header.is_bitmap = kind % 3 == 1;
  header.info.encoding = ImageEncoding::ppm;
  header.info.num_components = kind % 3 == 0 ? 3 : 1;
  header.info.width = header_number(text, "width");
  header.info.height = header_number(text, "height");
  if (!header.is_bitmap) header.max_value = header_number(text, "largest value");
  if (header.max_value > kMaxPnmValue) {
    throw error_of(ErrorCode::corrupt,
                   "broken PPM: the largest value in its header is {}, but at most {} is allowed; "
                   "get the file again",
                   header.max_value, kMaxPnmValue);
  }
  header.info.has_16_bits = header.max_value > 255;
  header.info.is_raw = kind == 6 && header.max_value == 255;
  const size_t end = text.position();
  if (end == data.size() || !is_space(std::to_integer<char>(data[end]))) {
    throw Error(ErrorCode::corrupt, "broken PPM: no space follows its header; get the file again");
  }
  header.num_bytes = end + 1;
  const auto width = static_cast<size_t>(header.info.width);
  header.row_bytes = header.is_bitmap ? (width + 7) / 8
                                      : width * static_cast<size_t>(header.info.num_components) *
                                            (header.info.has_16_bits ? 2 : 1);
  check_length(data, header);
  return header;
}

// What each stored value becomes: value / largest * full, rounded as Python's round() in Pillow's
// PpmImagePlugin, halves to even.
template <typename Value>
std::vector<Value> scale_table(const PnmHeader& header) {
  if (header.is_bitmap) return {static_cast<Value>(~0U), 0};
  const bool takes_high_byte =
      sizeof(Value) == 1 && header.info.has_16_bits && header.info.num_components == 1;
  const double full = takes_high_byte ? 65535 : static_cast<Value>(~0U);
  std::vector<Value> table(static_cast<size_t>(header.max_value) + 1);
  for (size_t i = 0; i < table.size(); ++i) {
    const auto scaled =
        static_cast<unsigned>(std::nearbyint(static_cast<double>(i) / header.max_value * full));
    table[i] = static_cast<Value>(takes_high_byte ? scaled >> 8 : scaled);
  }
  return table;
}

// The stored value `i` of a row of a binary one.
size_t stored_value(const PnmHeader& header, const std::byte* row, size_t i) {
  const auto byte = [row](size_t k) { return std::to_integer<size_t>(row[k]); };
  if (header.is_bitmap) return byte(i / 8) >> (7 - i % 8) & 1;
  return header.info.has_16_bits ? byte(2 * i) << 8 | byte(2 * i + 1) : byte(i);
}

template <typename Value>
void decode_binary(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                   Value* out) {
  const std::vector<Value> table = scale_table<Value>(header);
  const auto components = static_cast<size_t>(header.info.num_components);
  for (int y = 0; y < region.height; ++y) {
    const std::byte* row =
        data.data() + header.num_bytes + static_cast<size_t>(region.y + y) * header.row_bytes;
    for (size_t x = 0; x < static_cast<size_t>(region.width); ++x, out += 3) {
      for (size_t c = 0; c < 3; ++c) {
        const size_t i = (static_cast<size_t>(region.x) + x) * components + c % components;
        out[c] = table[std::min(stored_value(header, row, i), table.size() - 1)];
      }
    }
  }
}

size_t next_value(PnmText& text, const PnmHeader& header, int64_t pixel) {
  const int64_t value = header.is_bitmap ? text.character() - '0' : text.number();
  if (value < 0 && text.is_at_end()) {
    throw error_of(ErrorCode::corrupt,
                   "truncated PPM: the file ends before pixel {} of {}; get the file again", pixel,
                   int64_t{header.info.width} * header.info.height);
  }
  if (value < 0 || value > header.max_value) {
    throw error_of(ErrorCode::corrupt,
                   "broken PPM: pixel {} of {} is not a number from 0 to {}; get the file again",
                   pixel, int64_t{header.info.width} * header.info.height, header.max_value);
  }
  return static_cast<size_t>(value);
}

// All numbers are read, so that whether a picture is broken does not depend on the region.
template <typename Value>
void decode_text(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                 Value* out) {
  const std::vector<Value> table = scale_table<Value>(header);
  const ImageInfo& info = header.info;
  PnmText text(data, header.num_bytes);
  for (int y = 0; y < info.height; ++y) {
    for (int x = 0; x < info.width; ++x) {
      const int64_t pixel = int64_t{y} * info.width + x;
      std::array<Value, 3> rgb;
      rgb.fill(table[next_value(text, header, pixel)]);
      if (info.num_components == 3) {
        rgb[1] = table[next_value(text, header, pixel)];
        rgb[2] = table[next_value(text, header, pixel)];
      }
      if (x >= region.x && x < region.x + region.width && y >= region.y &&
          y < region.y + region.height) {
        out = std::ranges::copy(rgb, out).out;
      }
    }
  }
}

template <typename Value>
void decode_values(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                   Value* out) {
  if (header.is_text) {
    decode_text(data, header, region, out);
  } else {
    decode_binary(data, header, region, out);
  }
}

// What encode_ppm() writes, and PGMs of bytes: copied.
void copy_bytes(std::span<const std::byte> data, const PnmHeader& header, const Rect& region,
                uint8_t* out) {
  const auto components = static_cast<size_t>(header.info.num_components);
  const auto width = static_cast<size_t>(region.width);
  const auto height = static_cast<size_t>(region.height);
  const auto* in = reinterpret_cast<const uint8_t*>(data.data()) + header.num_bytes +
                   static_cast<size_t>(region.y) * header.row_bytes +
                   static_cast<size_t>(region.x) * components;
  const size_t out_stride = 3 * width;
  if (components == 3 && header.row_bytes == out_stride) {
    std::memcpy(out, in, out_stride * height);
    return;
  }
  for (size_t y = 0; y < height; ++y, in += header.row_bytes, out += out_stride) {
    if (components == 3) {
      std::memcpy(out, in, out_stride);
      continue;
    }
    for (size_t x = 0; x < width; ++x) std::fill_n(out + 3 * x, 3, in[x]);
  }
}

}  // namespace

bool is_pnm(std::span<const std::byte> data) {
  if (data.size() < 3 || data[0] != std::byte{'P'}) return false;
  if (data[1] < std::byte{'1'} || data[1] > std::byte{'6'}) return false;
  const char next = std::to_integer<char>(data[2]);
  return is_space(next) || next == '#';
}

ImageInfo read_pnm_info(std::span<const std::byte> data) {
  return read_pnm_header(data).info;
}

void decode_pnm(std::span<const std::byte> data, const Rect& region, uint8_t* out) {
  const PnmHeader header = read_pnm_header(data);
  if (header.max_value == 255 && !header.is_text) {
    copy_bytes(data, header, region, out);
  } else {
    decode_values(data, header, region, out);
  }
}

void decode_wide_pnm(std::span<const std::byte> data, const Rect& region, uint16_t* out) {
  decode_values(data, read_pnm_header(data), region, out);
}

}  // namespace ffkit
