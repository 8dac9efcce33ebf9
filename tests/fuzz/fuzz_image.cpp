// An image file of any bytes: its header, its EXIF orientation, all of its pixels, parts of it at
// several scales, and the numbers of it as a mask.
#include <cstdlib>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/image/exif.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/mask.h>

#include "image/codec/mask_decoder.h"

using namespace ffkit;

namespace {

volatile unsigned sink;

// Touches every byte that may be read, so that AddressSanitizer sees what a view covers.
void touch(const RgbView& pixels) {
  constexpr int kSlack = 64;  // see RgbView
  unsigned sum = 0;
  for (int y = 0; y < pixels.height; ++y) {
    const uint8_t* const row = pixels.data + y * pixels.stride;
    for (int x = 0; x < 3 * pixels.width + kSlack; ++x) sum += row[x];
  }
  sink = sum;
}

void touch(const WideRgbView& pixels) {
  unsigned sum = 0;
  for (int y = 0; y < pixels.height; ++y) {
    const uint16_t* const row = pixels.data + y * pixels.stride;
    for (int x = 0; x < 3 * pixels.width; ++x) sum += row[x];
  }
  sink = sum;
}

void touch(const MaskView& mask) {
  const size_t row_bytes = static_cast<size_t>(mask.width) * size_of(mask.dtype);
  unsigned sum = 0;
  for (int y = 0; y < mask.height; ++y) {
    const auto* const row = static_cast<const uint8_t*>(mask.data) +
                            y * mask.stride * static_cast<ptrdiff_t>(size_of(mask.dtype));
    for (size_t i = 0; i < row_bytes; ++i) sum += row[i];
  }
  sink = sum;
}

void decode_part(ImageDecoder& decoder, std::span<const std::byte> data, const Rect& part,
                 int min_size) {
  const auto [pixels, source, x, y, width, height] =
      decoder.decode_region(data, part, min_size, min_size);
  if (source.x < 0 || source.y < 0 || source.width < 1 || source.height < 1 ||
      source.x + source.width > pixels.width || source.y + source.height > pixels.height) {
    std::abort();
  }
  touch(pixels);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ImageDecoder decoder;  // as the loader does: one for many
  const auto bytes = std::as_bytes(std::span(data, size));
  const int orientation = exif_orientation(bytes);
  if (orientation < 1 || orientation > 8) std::abort();
  try {
    exif_tags(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::unsupported) std::abort();
  }
  ImageInfo info;
  try {
    info = decoder.read_info(bytes);
  } catch (const Error&) {
    return 0;
  }
  constexpr int64_t kMaxPixels = 1 << 16;  // more only take longer
  if (int64_t{info.width} * info.height > kMaxPixels) return 0;
  try {
    static std::vector<uint8_t> upright;
    const RgbView pixels = decoder.decode(bytes);
    touch(pixels);
    touch(turn_upright(pixels, orientation, upright));
  } catch (const Error&) {
  }
  static MaskDecoder mask_decoder;
  for (const MaskNumbers numbers : {MaskNumbers::values, MaskNumbers::panoptic}) {
    try {
      touch(mask_decoder.decode(bytes, numbers));
    } catch (const Error&) {
    }
  }
  // Which part is told by the input's last bytes.
  const auto pick = [&](size_t i, int limit) { return data[size - 1 - i % size] % limit; };
  Rect part{.x = pick(0, info.width), .y = pick(1, info.height)};
  part.width = 1 + pick(2, info.width - part.x);
  part.height = 1 + pick(3, info.height - part.y);
  for (const int min_size : {0, 1, 10}) {
    try {
      decode_part(decoder, bytes, part, min_size);
    } catch (const Error&) {
    }
  }
  if (!info.has_16_bits) return 0;
  try {
    decoder.read_info(bytes);
    touch(decoder.read_wide_region(part));
  } catch (const Error&) {
  }
  return 0;
}
