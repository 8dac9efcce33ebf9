#include "exif/exif_data.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <ffkit/image/image_codec.h>

#include "dct/dct_file.h"

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

// Of one value.
size_t num_bytes_of_type(size_t type) {
  constexpr size_t kBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

}  // namespace

std::optional<Bytes> exif_data(Bytes image) {
  std::optional<Bytes> exif = exif_of(image);
  // Some writers of PNG and WebP keep the name that JPEG has before the data.
  if (exif && begins_with(*exif, kExifName)) exif = exif->subspan(kExifName.size());
  return exif;
}

size_t TiffTag::number_at(size_t at, size_t num_bytes) const {
  if (at > value.size() || num_bytes > value.size() - at) return 0;
  return ffkit::number_at(value, at, num_bytes, is_little_endian);
}

size_t TiffTag::number() const {
  return type == 1 || type == 3 || type == 4 ? number_at(0, num_bytes_of_type(type)) : 0;
}

std::vector<TiffTag> tiff_tags(Bytes tiff, std::optional<size_t> offset) {
  constexpr size_t kEntryBytes = 12;
  std::vector<TiffTag> tags;
  const bool is_little_endian = begins_with(tiff, std::string_view("II*\0", 4));
  if (!is_little_endian && !begins_with(tiff, std::string_view("MM\0*", 4))) return tags;
  if (tiff.size() < 8) return tags;
  const auto number = [&](size_t at, size_t num_bytes) {
    return number_at(tiff, at, num_bytes, is_little_endian);
  };
  const size_t directory = offset.value_or(number(4, 4));
  if (directory > tiff.size() || tiff.size() - directory < 2) return tags;
  const size_t count = std::min(number(directory, 2), (tiff.size() - directory - 2) / kEntryBytes);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + kEntryBytes * i;
    TiffTag tag{.tag = number(entry, 2),
                .type = number(entry + 2, 2),
                .count = number(entry + 4, 4),
                .value = {},
                .is_little_endian = is_little_endian};
    const size_t num_bytes = tag.count * num_bytes_of_type(tag.type);
    const size_t at = num_bytes <= 4 ? entry + 8 : number(entry + 8, 4);
    if (at <= tiff.size() && num_bytes <= tiff.size() - at) tag.value = tiff.subspan(at, num_bytes);
    tags.push_back(tag);
  }
  return tags;
}

}  // namespace ffkit
