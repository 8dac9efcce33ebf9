#include "sources/demo/demo_sample.h"

#include <algorithm>

#include <ffkit/image/image_codec.h>

namespace ffkit {

SplitMix demo_random(uint64_t seed, size_t split, int64_t index) {
  // Hashed, since nearby states of SplitMix give overlapping sequences.
  const auto number = 2 * static_cast<uint64_t>(index) + static_cast<uint64_t>(split);
  return SplitMix(SplitMix(seed).next() ^ SplitMix(number).next());
}

std::span<std::byte> encode_demo_picture(const std::vector<uint8_t>& pixels, int64_t size,
                                         SampleBuffers& buffers) {
  const auto side = static_cast<int>(size);
  const std::vector<std::byte> jpeg =
      encode_jpeg({.data = pixels.data(), .width = side, .height = side, .stride = 3 * side});
  const std::span<std::byte> image = buffers.bytes(jpeg.size());
  std::ranges::copy(jpeg, image.begin());
  return image;
}

}  // namespace ffkit
