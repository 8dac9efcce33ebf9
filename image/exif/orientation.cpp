#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/orientation.h>

#include "base/errors_only.h"
#include "base/make_error.h"
#include "exif/exif_data.h"

namespace ffkit {
namespace {

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
