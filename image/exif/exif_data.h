// Where the EXIF data of a picture are, and their tags: they are a TIFF file (EXIF 2.32, 4.6).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace ffkit {

// The EXIF data of an encoded picture; nothing where there are none. They point into `image`.
// Throws Error(corrupt) for a dct code that is broken.
std::optional<std::span<const std::byte>> exif_data(std::span<const std::byte> image);

// One tag of a directory.
struct TiffTag {
  size_t tag = 0;
  size_t type = 0;                   // 1 BYTE, 2 ASCII, 3 SHORT, 4 LONG, 5 RATIONAL, ...
  size_t count = 0;                  // of values
  std::span<const std::byte> value;  // of them all; empty: of another type, or broken
  bool is_little_endian = true;

  // The first value of a BYTE, SHORT or LONG; 0 of others.
  [[nodiscard]] size_t number() const;
  // `num_bytes` of the value from `at` on, as a whole number.
  [[nodiscard]] size_t number_at(size_t at, size_t num_bytes) const;
};

// The tags of the directory at `offset`, of the first one without. Empty where the data are no TIFF
// file, or there is no directory.
std::vector<TiffTag> tiff_tags(std::span<const std::byte> tiff,
                               std::optional<size_t> offset = std::nullopt);

}  // namespace ffkit
