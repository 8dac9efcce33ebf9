// What made-up pictures of all kinds share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/converter/source.h>

#include "input/splitmix.h"

namespace ffkit {

// Draws for one sample; splits and samples of a seed are independent of each other.
SplitMix demo_random(uint64_t seed, size_t split, int64_t index);

// A JPEG of [size, size, 3] u8 RGB, kept in `buffers`.
std::span<std::byte> encode_demo_picture(const std::vector<uint8_t>& pixels, int64_t size,
                                         SampleBuffers& buffers);

}  // namespace ffkit
