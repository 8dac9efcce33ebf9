// The EXIF tags of a picture as text: camera, time, exposure. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ffkit {

struct ExifTags {
  // Names by EXIF 2.32 and values as text, in the order of the file: {"FNumber", "28/10"}.
  std::vector<std::pair<std::string, std::string>> known;
  int64_t num_others = 0;  // tags that are not shown
  bool has_place = false;  // the picture says where it was taken (GPS)
};

// Of an encoded picture; the data are where exif_orientation() looks for them. Empty without any.
// Broken tags have "0 bytes". Throws Error(corrupt) for a dct code that is broken.
ExifTags exif_tags(std::span<const std::byte> image);

}  // namespace ffkit
