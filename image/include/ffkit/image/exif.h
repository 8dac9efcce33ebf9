// The EXIF data of a picture: its tags, and its orientation: how to rotate or mirror its pixels to
// make it upright. ffkit's decoders do not apply it; nor do torchvision's. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/image/image_info.h>

namespace ffkit {

// Tag 0x0112 of the EXIF data of an encoded picture, 1 .. 8. The data are in APP1 of a JPEG (also
// in the dct code), in the chunk eXIf of a PNG, in EXIF of a WebP. 1 (upright) if there is no tag,
// if the data are broken, and for other encodings.
int exif_orientation(std::span<const std::byte> image);

// Applies `orientation`, 1 .. 8, as Pillow's exif_transpose() does. 5 .. 8 exchange width and
// height. The result is in `memory`, with 64 readable bytes after it (RgbView). For 1 it is
// `picture` itself. Throws Error(invalid_argument) for another orientation, Error(io) if memory
// runs out.
RgbView turn_upright(const RgbView& picture, int orientation, std::vector<uint8_t>& memory);

// The EXIF tags of a picture as text: camera, time, exposure. Thread-safe: no state.
struct ExifTags {
  // Names by EXIF 2.32 and values as text, in the order of the file: {"FNumber", "28/10"}.
  std::vector<std::pair<std::string, std::string>> known;
  int64_t num_others = 0;  // tags that are not shown
  bool has_place = false;  // the picture says where it was taken (GPS)
};

// The tags of an encoded picture, from the same data as exif_orientation(). Empty if there are
// none. Broken tags have "0 bytes". Throws Error(corrupt) for a broken dct code.
ExifTags exif_tags(std::span<const std::byte> image);

}  // namespace ffkit
