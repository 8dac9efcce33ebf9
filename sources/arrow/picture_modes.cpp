#include "arrow/picture_modes.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include <ffkit/image/exif.h>
#include <ffkit/image/image_codec.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr const char* kGreyMode = "L";

std::vector<std::byte> grey_png(ImageDecoder& decoder, std::span<const std::byte> image) {
  std::vector<uint8_t> upright;
  const RgbView pixels = turn_upright(decoder.decode(image), exif_orientation(image), upright);
  std::vector<uint8_t> grey;
  grey.reserve(static_cast<size_t>(pixels.width) * static_cast<size_t>(pixels.height));
  for (int y = 0; y < pixels.height; ++y) {
    const uint8_t* at = pixels.data + y * pixels.stride;
    for (int x = 0; x < pixels.width; ++x, at += 3) {
      const uint32_t luma = at[0] * 19595U + at[1] * 38470U + at[2] * 7471U + 0x8000U;
      grey.push_back(static_cast<uint8_t>(luma >> 16));
    }
  }
  return encode_mask_png({.data = grey.data(),
                          .dtype = DType::u8,
                          .width = pixels.width,
                          .height = pixels.height,
                          .stride = pixels.width});
}

}  // namespace

std::string note_of_mode(const std::string& column, const std::string& mode) {
  if (mode.empty() || mode == "RGB") return {};
  if (mode == kGreyMode) {
    return fmt::format(
        "column '{}': Image(mode='L') means one channel; pictures with more channels "
        "become PNGs with one",
        column);
  }
  return fmt::format(
      "column '{}': ffkit does not apply Image(mode='{}'); pictures keep their bytes. To "
      "apply the mode, use ffkit.convert.from_torch() in Python",
      column, mode);
}

std::span<const std::byte> in_mode(const std::string& mode, std::span<const std::byte> image,
                                   SampleBuffers& buffers) {
  if (mode != kGreyMode) return image;
  thread_local ImageDecoder decoder;
  try {
    const ImageInfo info = decoder.read_info(image);
    if (info.num_components == 1 && !info.has_palette) return image;
    std::vector<std::byte>& png = buffers.array();
    png = grey_png(decoder, image);
    return png;
  } catch (const Error& error) {
    if (buffers.bad_samples() != BadSamples::keep || is_out_of_memory(error)) throw;
    return image;
  }
}

}  // namespace ffkit
