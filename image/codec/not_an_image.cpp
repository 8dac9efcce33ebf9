#include "codec/not_an_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/make_error.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

bool is_printable(char c) {
  return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
}

// Of unknown bytes: their beginning, and a remedy.
std::string describe_beginning(std::string_view text) {
  constexpr size_t kShown = 16;
  const std::string_view shown = text.substr(0, kShown);
  if (shown.size() >= 4 && std::ranges::all_of(shown, is_printable)) {
    std::string line(shown.substr(0, shown.find_first_of("\r\n")));
    std::ranges::replace(line, '\t', ' ');
    return fmt::format("text that begins with '{}'); get the picture again or leave it out", line);
  }
  std::string bytes;
  for (const char c : text.substr(0, 4)) {
    bytes += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format("unknown, begins with{}); convert it to one of them", bytes);
}

}  // namespace

void throw_not_an_image(std::span<const std::byte> data) {
  if (data.empty()) {
    throw Error(ErrorCode::corrupt, "the picture is empty (0 bytes); get the file again");
  }
  constexpr std::string_view kRead = "none of JPEG, PNG, WebP, BMP, PPM, PGM and PBM";
  const ContentKind kind = content_kind(data.first(std::min(data.size(), kContentHeadBytes)));
  const bool is_through_text =
      kind == ContentKind::png_through_text || kind == ContentKind::jpeg_through_text;
  if (kind == ContentKind::unknown || kind == ContentKind::pnm || kind == ContentKind::bmp ||
      kind == ContentKind::utf8_with_bom) {
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    throw error_of(ErrorCode::unsupported, "the picture is {} ({}", kRead,
                   describe_beginning(text));
  }
  const std::string_view remedy = content_remedy(kind);
  throw error_of(is_through_text ? ErrorCode::corrupt : ErrorCode::unsupported,
                 "the picture is {}, {}; {}", content_name(kind), kRead,
                 remedy.empty() ? "put a picture in its place or leave it out" : remedy);
}

}  // namespace ffkit
