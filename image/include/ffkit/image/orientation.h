// The EXIF orientation of a picture: how its pixels must be turned or mirrored to stand upright.
// ffkit's decoders do not apply it; neither do torchvision's. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/image/image_info.h>

namespace ffkit {

// Tag 0x0112 of the EXIF data of an encoded picture, 1 .. 8. The data are in APP1 of a JPEG (also
// in the dct code), in the chunk eXIf of a PNG, in EXIF of a WebP. 1 (upright) if there is no tag,
// if the data are broken, and for other encodings.
int exif_orientation(std::span<const std::byte> image);

// Applies `orientation`, 1 .. 8, as Pillow's exif_transpose() does. 5 .. 8 exchange width and
// height. The result lies in `memory`, with 64 readable bytes behind it (RgbView). For 1 it is
// `picture` itself. Throws Error(invalid_argument) for another orientation, Error(io) when memory
// runs out.
RgbView turn_upright(const RgbView& picture, int orientation, std::vector<uint8_t>& memory);

}  // namespace ffkit
