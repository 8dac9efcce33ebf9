// The EXIF data of a picture: where they are, and their tags. They are a TIFF file (EXIF 2.32,
// 4.6).
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/image/exif.h>
#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "base/printable.h"
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

// The EXIF data of an encoded picture; nothing where there are none. They point into `image`.
// Throws Error(corrupt) for a dct code that is broken.
std::optional<Bytes> exif_data(Bytes image) {
  std::optional<Bytes> exif = exif_of(image);
  // Some writers of PNG and WebP keep the name that JPEG has before the data.
  if (exif && begins_with(*exif, kExifName)) exif = exif->subspan(kExifName.size());
  return exif;
}

// One tag of a directory.
struct TiffTag {
  size_t tag = 0;
  size_t type = 0;                   // 1 BYTE, 2 ASCII, 3 SHORT, 4 LONG, 5 RATIONAL, ...
  size_t count = 0;                  // of values
  std::span<const std::byte> value;  // of them all; empty: of another type, or broken
  bool is_little_endian = true;

  // The first value of a BYTE, SHORT or LONG; 0 of others.
  size_t number() const {
    return type == 1 || type == 3 || type == 4 ? number_at(0, num_bytes_of_type(type)) : 0;
  }
  // `num_bytes` of the value from `at` on, as a whole number.
  size_t number_at(size_t at, size_t num_bytes) const {
    if (at > value.size() || num_bytes > value.size() - at) return 0;
    return ffkit::number_at(value, at, num_bytes, is_little_endian);
  }
};

// The tags of the directory at `offset`, of the first one without. Empty where the data are no TIFF
// file, or there is no directory.
std::vector<TiffTag> tiff_tags(Bytes tiff, std::optional<size_t> offset = std::nullopt) {
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

struct KnownTag {
  size_t tag;
  std::string_view name;
};
// By the names of EXIF 2.32; those that a person looks at.
constexpr KnownTag kKnownTags[] = {
    {0x010E, "ImageDescription"},
    {0x010F, "Make"},
    {0x0110, "Model"},
    {0x0112, "Orientation"},
    {0x0131, "Software"},
    {0x0132, "DateTime"},
    {0x013B, "Artist"},
    {0x8298, "Copyright"},
    {0x829A, "ExposureTime"},
    {0x829D, "FNumber"},
    {0x8827, "PhotographicSensitivity"},
    {0x9003, "DateTimeOriginal"},
    {0x9209, "Flash"},
    {0x920A, "FocalLength"},
    {0xA001, "ColorSpace"},
    {0xA002, "PixelXDimension"},
    {0xA003, "PixelYDimension"},
    {0xA434, "LensModel"},
};
constexpr size_t kExifDirectory = 0x8769;
constexpr size_t kGpsDirectory = 0x8825;
constexpr size_t kMaxTextBytes = 1000;

std::string text_of(const TiffTag& tag) {
  if (tag.type == 2) {
    std::string_view text(reinterpret_cast<const char*>(tag.value.data()),
                          std::min(tag.value.size(), kMaxTextBytes));
    text = text.substr(0, text.find('\0'));
    return printable(text);
  }
  if (tag.type == 5 && tag.value.size() >= 8) {
    const size_t above = tag.number_at(0, 4);
    const size_t below = tag.number_at(4, 4);
    if (below == 0 || above % below != 0) return fmt::format("{}/{}", above, below);
    return fmt::to_string(above / below);
  }
  const bool is_number = (tag.type == 1 || tag.type == 3 || tag.type == 4) && !tag.value.empty();
  return is_number ? fmt::to_string(tag.number()) : fmt::format("{} bytes", tag.value.size());
}

void add_tags(const std::vector<TiffTag>& tags, ExifTags& out) {
  for (const TiffTag& tag : tags) {
    const auto known = std::ranges::find(kKnownTags, tag.tag, &KnownTag::tag);
    if (tag.tag == kExifDirectory) continue;
    if (tag.tag == kGpsDirectory) {
      out.has_place = true;
    } else if (known == std::end(kKnownTags)) {
      ++out.num_others;
    } else {
      out.known.emplace_back(known->name, text_of(tag));
    }
  }
}

// The tag 0x0112 of the first directory.
int orientation_of(std::span<const std::byte> tiff) {
  constexpr size_t kOrientation = 0x0112;
  int orientation = 1;
  for (const TiffTag& tag : tiff_tags(tiff)) {
    if (tag.tag != kOrientation || tag.count != 1) continue;
    const size_t value = tag.number();
    orientation = value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return orientation;
}

}  // namespace

ExifTags exif_tags(std::span<const std::byte> image) {
  ExifTags out;
  const auto exif = exif_data(image);
  if (!exif) return out;
  const std::vector<TiffTag> first = tiff_tags(*exif);
  add_tags(first, out);
  for (const TiffTag& tag : first) {
    if (tag.tag == kExifDirectory) add_tags(tiff_tags(*exif, tag.number()), out);
  }
  return out;
}

int exif_orientation(std::span<const std::byte> image) {
  try {
    const auto exif = exif_data(image);
    return exif ? orientation_of(*exif) : 1;
  } catch (const Error&) {  // a dct code that is broken
    return 1;
  }
}

RgbView turn_upright(const RgbView& picture, int orientation, std::vector<uint8_t>& memory) {
  if (orientation < 1 || orientation > 8) {
    throw error_of(ErrorCode::invalid_argument, "the orientation is {}; expected 1 to 8",
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
