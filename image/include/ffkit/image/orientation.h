// The orientation that EXIF data give a picture: how its pixels have to be turned or mirrored to
// stand upright. Decoders of ffkit do not apply it, as torchvision's do not. Thread-safe: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/image/image_info.h>

namespace ffkit {

// The orientation of an encoded picture by tag 0x0112 of its EXIF data, 1 .. 8: in APP1 of a JPEG
// (also in the dct code), in the chunk eXIf of a PNG, in EXIF of a WebP. 1, upright, where there is
// none, where the data are broken, and for other kinds.
int exif_orientation(std::span<const std::byte> image);

// The pixels of `picture` as somebody sees them who applies `orientation`, 1 .. 8: what Pillow's
// exif_transpose() gives. 5 .. 8 exchange width and height. The result lies in `memory`, with the
// 64 bytes behind it that RgbView promises; for 1 it is `picture`. Throws Error(invalid_argument)
// for another orientation, Error(io) where memory runs out.
RgbView turn_upright(const RgbView& picture, int orientation, std::vector<uint8_t>& memory);

}  // namespace ffkit
