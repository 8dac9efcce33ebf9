#include "bitmaps/pnm_header.h"

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr int kMaxPnmValue = 65535;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

int header_number(PnmText& text, const char* what) {
  const int64_t number = text.number();
  if (number < 1) {
    throw error_of(ErrorCode::corrupt, "broken PPM: its header gives no {}; get the file again",
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
                   "truncated PPM: {} bytes behind its header are too few for {} x {} pixels; get "
                   "the file again",
                   available, info.width, info.height);
  }
}

}  // namespace

PnmText::PnmText(std::span<const std::byte> data, size_t begin)
    : text_(reinterpret_cast<const char*>(data.data()), data.size()), at_(begin) {}

void PnmText::skip_space() {
  for (bool is_comment = false; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '#') is_comment = true;
    if (c == '\n' || c == '\r') is_comment = false;
    if (!is_comment && !is_space(c)) return;
  }
}

int64_t PnmText::number() {
  skip_space();
  const size_t begin = at_;
  int64_t value = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value <= INT32_MAX) {
    value = 10 * value + (text_[at_++] - '0');
  }
  if (at_ == begin || value > INT32_MAX) return -1;
  if (at_ < text_.size() && text_[at_] == '#') {
    throw error_of(ErrorCode::corrupt,
                   "broken PPM: a comment begins within the number {}; write a space before the #",
                   text_.substr(begin, at_ - begin));
  }
  return value;
}

int PnmText::character() {
  skip_space();
  return at_ < text_.size() ? static_cast<unsigned char>(text_[at_++]) : -1;
}

bool is_pnm(std::span<const std::byte> data) {
  if (data.size() < 3 || data[0] != std::byte{'P'}) return false;
  if (data[1] < std::byte{'1'} || data[1] > std::byte{'6'}) return false;
  const char next = std::to_integer<char>(data[2]);
  return is_space(next) || next == '#';
}

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
                   "broken PPM: its values go up to {}, more than {}; get the file again",
                   header.max_value, kMaxPnmValue);
  }
  header.info.has_16_bits = header.max_value > 255;
  header.info.is_raw = kind == 6 && header.max_value == 255;
  const size_t end = text.position();
  if (end == data.size() || !is_space(std::to_integer<char>(data[end]))) {
    throw Error(ErrorCode::corrupt, "broken PPM: its header has no end; get the file again");
  }
  header.num_bytes = end + 1;
  const auto width = static_cast<size_t>(header.info.width);
  header.row_bytes = header.is_bitmap ? (width + 7) / 8
                                      : width * static_cast<size_t>(header.info.num_components) *
                                            (header.info.has_16_bits ? 2 : 1);
  check_length(data, header);
  return header;
}

}  // namespace ffkit
