#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <ffkit/image/exif_tags.h>

#include "base/printable.h"
#include "exif/exif_data.h"

namespace ffkit {
namespace {

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

}  // namespace ffkit
