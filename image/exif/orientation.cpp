#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/orientation.h>

#include "dct/dct_file.h"
#include "format/errors_only.h"
#include "format/make_error.h"

namespace ffkit {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kExifName("Exif\0\0", 6);

bool begins_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

size_t number_at(Bytes bytes, size_t at, size_t num_bytes, bool is_little_endian) {
  size_t value = 0;
  for (size_t i = 0; i < num_bytes; ++i) {
    const size_t place = is_little_endian ? num_bytes - 1 - i : i;
    value = value << 8 | std::to_integer<size_t>(bytes[at + place]);
  }
  return value;
}

// Of EXIF data, which are a TIFF file: the tag 0x0112 of its first directory (EXIF 2.32, 4.6).
int orientation_of(Bytes tiff) {
  constexpr size_t kEntryBytes = 12;
  constexpr size_t kOrientation = 0x0112;
  const bool is_little_endian = begins_with(tiff, std::string_view("II*\0", 4));
  if (!is_little_endian && !begins_with(tiff, std::string_view("MM\0*", 4))) return 1;
  if (tiff.size() < 8) return 1;
  const auto number = [&](size_t at, size_t num_bytes) {
    return number_at(tiff, at, num_bytes, is_little_endian);
  };
  const size_t directory = number(4, 4);
  if (directory > tiff.size() || tiff.size() - directory < 2) return 1;
  const size_t count = std::min(number(directory, 2), (tiff.size() - directory - 2) / kEntryBytes);
  int orientation = 1;
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + kEntryBytes * i;
    if (number(entry, 2) != kOrientation || number(entry + 4, 4) != 1) continue;
    const size_t type = number(entry + 2, 2);  // BYTE, SHORT or LONG
    const size_t num_bytes = type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;
    const size_t value = num_bytes == 0 ? 0 : number(entry + 8, num_bytes);
    orientation = value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return orientation;
}

// EXIF data of a JPEG: of the first APP1 that has some.
std::optional<Bytes> exif_of_jpeg(Bytes jpeg) {
  for (size_t i = 2; i + 4 <= jpeg.size();) {
    const auto marker = std::to_integer<unsigned>(jpeg[i + 1]);
    if (jpeg[i] != std::byte{0xFF} || marker == 0xFF) {  // stray and fill bytes
      ++i;
      continue;
    }
    if (marker == 0xDA || marker == 0xD9) break;
    if (marker <= 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {  // stands alone
      i += 2;
      continue;
    }
    const size_t length = number_at(jpeg, i + 2, 2, false);
    if (length < 2 || length > jpeg.size() - i - 2) break;
    const Bytes content = jpeg.subspan(i + 4, length - 2);
    if (marker == 0xE1 && begins_with(content, kExifName)) return content.subspan(kExifName.size());
    i += 2 + length;
  }
  return std::nullopt;
}

// Content of the first chunk `name`. PNG: big-endian length, name, content, checksum. RIFF: name,
// little-endian length, content, filled up to an even length.
std::optional<Bytes> chunk_of(Bytes file, size_t begin, std::string_view name, bool is_riff) {
  for (size_t i = begin; i + 8 <= file.size();) {
    const size_t length = number_at(file, is_riff ? i + 4 : i, 4, is_riff);
    if (length > file.size() - i - 8) break;
    if (begins_with(file.subspan(is_riff ? i : i + 4), name)) return file.subspan(i + 8, length);
    i += 8 + length + (is_riff ? length % 2 : 4);
  }
  return std::nullopt;
}

std::optional<Bytes> exif_of(Bytes image) {
  switch (detect_image_encoding(image)) {
    case ImageEncoding::jpeg:
      return exif_of_jpeg(image);
    case ImageEncoding::dct: {
      DctFile file;
      file.open(image);
      return exif_of_jpeg(file.head());
    }
    case ImageEncoding::png:
      return chunk_of(image, 8, "eXIf", false);
    case ImageEncoding::webp:
      return chunk_of(image, 12, "EXIF", true);
    default:
      return std::nullopt;
  }
}

}  // namespace

int exif_orientation(std::span<const std::byte> image) {
  try {
    std::optional<Bytes> exif = exif_of(image);
    if (!exif) return 1;
    // Some writers of PNG and WebP keep the name that JPEG has before the data.
    if (begins_with(*exif, kExifName)) exif = exif->subspan(kExifName.size());
    return orientation_of(*exif);
  } catch (const Error&) {  // a dct code that is broken
    return 1;
  }
}

RgbView turn_upright(const RgbView& picture, int orientation, std::vector<uint8_t>& memory) {
  if (orientation < 1 || orientation > 8) {
    throw error_of(ErrorCode::invalid_argument, "the orientation is {}; it must be 1 .. 8",
                   orientation);
  }
  if (orientation == 1) return picture;
  constexpr size_t kSlackBytes = 64;
  const bool exchanges = orientation >= 5;
  const int width = exchanges ? picture.height : picture.width;
  const int height = exchanges ? picture.width : picture.height;
  errors_only("", [&] {
    memory.resize(3 * static_cast<size_t>(width) * static_cast<size_t>(height) + kSlackBytes);
  });
  // Where the first pixel of the result is in the picture, and how far it is from there to the
  // pixel right of it and to the one below.
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const ptrdiff_t along_x = from_right ? -3 : 3;
  const ptrdiff_t along_y = from_bottom ? -picture.stride : picture.stride;
  const uint8_t* row = picture.data + (from_right ? ptrdiff_t{3} * (picture.width - 1) : 0) +
                       (from_bottom ? picture.stride * (picture.height - 1) : 0);
  const ptrdiff_t right = exchanges ? along_y : along_x;
  const ptrdiff_t below = exchanges ? along_x : along_y;
  uint8_t* out = memory.data();
  for (int y = 0; y < height; ++y, row += below) {
    const uint8_t* pixel = row;
    for (int x = 0; x < width; ++x, pixel += right, out += 3) std::memcpy(out, pixel, 3);
  }
  return {memory.data(), width, height, ptrdiff_t{3} * width};
}

}  // namespace ffkit
