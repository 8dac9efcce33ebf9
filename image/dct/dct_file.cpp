#include "dct/dct_file.h"

#include <fmt/format.h>

#include <cstring>

#include <ffkit/image/dct_picture.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

uint32_t u32_at(const uint8_t* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

}  // namespace

void throw_broken_dct(std::string_view what) {
  throw error_of(ErrorCode::corrupt,
                 "the dct code of a JPEG is broken ({}); convert it again from its source", what);
}

void DctFile::open(std::span<const std::byte> dct) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(dct.data());
  if (!is_dct_picture(dct)) throw_broken_dct("it does not begin as one");
  if (dct.size() < kHeaderBytes) throw_broken_dct("its header is cut");
  if (bytes[6] != kVersion) {
    throw error_of(ErrorCode::unsupported,
                   "the picture is in version {} of the dct code, of which version {} is read; "
                   "take a newer release",
                   bytes[6], kVersion);
  }
  if (u32_at(bytes + 8) != dct.size()) {
    throw_broken_dct(fmt::format("{} bytes, expected {}", dct.size(), u32_at(bytes + 8)));
  }
  padding_ = bytes[7];
  const uint64_t head_bytes = u32_at(bytes + 12);
  const uint64_t tail_bytes = u32_at(bytes + 16);
  num_rows_ = u32_at(bytes + 20);
  num_components_ = bytes[24];
  if ((num_components_ != 1 && num_components_ != 3) || bytes[25] != 0 || bytes[26] != 0 ||
      bytes[27] != 0) {
    throw_broken_dct("its header is not one");
  }
  const uint64_t rows_at = kHeaderBytes + kCodeBytes * num_components_ + head_bytes + tail_bytes +
                           uint64_t{4} * num_rows_;
  if (num_rows_ == 0 || rows_at + kSlackBytes > dct.size()) {
    throw_broken_dct("its parts do not fit into it");
  }
  size_t at = kHeaderBytes;
  for (size_t c = 0; c < num_components_; ++c) {
    for (size_t i = 0; i < codes_[c].widths.size(); ++i) {
      const int width = i % 2 == 0 ? bytes[at + i / 2] & 15 : bytes[at + i / 2] >> 4;
      if (width < 1 || width > 8) throw_broken_dct("a width is not 1 to 8");
      codes_[c].widths[i] = static_cast<uint8_t>(width);
    }
    std::memcpy(codes_[c].common_flags.data(), bytes + at + 16, codes_[c].common_flags.size());
    at += kCodeBytes;
  }
  head_ = dct.subspan(at, head_bytes);
  tail_ = dct.subspan(at + head_bytes, tail_bytes);
  rows_ = bytes + rows_at;
  index_ = rows_ - 4 * num_rows_;
  uint32_t begin = 0;
  for (size_t i = 0; i < num_rows_; ++i) {
    const uint32_t end = u32_at(index_ + 4 * i);
    if (end < begin) throw_broken_dct("its index goes back");
    begin = end;
  }
  if (rows_at + begin + kSlackBytes != dct.size()) {
    throw_broken_dct("its rows do not fill it");
  }
}

std::span<const uint8_t> DctFile::row(size_t i) const {
  const uint32_t begin = i == 0 ? 0 : u32_at(index_ + 4 * (i - 1));
  return {rows_ + begin, u32_at(index_ + 4 * i) - begin};
}

}  // namespace ffkit
