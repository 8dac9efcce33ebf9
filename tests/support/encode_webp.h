// WebPs for tests; the product only reads them.
#pragma once

#include <webp/encode.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ffkit::testing {

// RGB pixels as a lossy WebP of `quality` 0 .. 100, or without loss for -1.
inline std::vector<std::byte> encode_webp(int width, int height, const std::vector<uint8_t>& rgb,
                                          float quality = -1) {
  uint8_t* output = nullptr;
  const size_t num_bytes =
      quality < 0 ? WebPEncodeLosslessRGB(rgb.data(), width, height, 3 * width, &output)
                  : WebPEncodeRGB(rgb.data(), width, height, 3 * width, quality, &output);
  const auto* bytes = reinterpret_cast<const std::byte*>(output);
  const std::vector<std::byte> result(bytes, bytes + num_bytes);
  WebPFree(output);
  return result;
}

}  // namespace ffkit::testing
