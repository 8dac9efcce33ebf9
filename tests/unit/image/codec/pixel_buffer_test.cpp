// Where decoded pixels lie.
#include "codec/pixel_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace ffkit {
namespace {

// Whatever the heap looks like: libjpeg's rows must not begin at multiples of 32.
TEST(PixelBuffer, BeginsBesideTheAlignmentOfStreamingStores) {
  std::vector<std::unique_ptr<char[]>> between;
  for (size_t size = 1; size < 400'000; size += size / 3 + 1) {
    PixelBuffer buffer;
    uint8_t* begin = buffer.reserve(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % PixelBuffer::kAlignment, PixelBuffer::kOffset);
    begin[0] = 1;
    begin[size + PixelBuffer::kSlackBytes - 1] = 2;  // ASan knows whether there is room
    EXPECT_EQ(buffer.reserve(size / 2), begin);
    between.push_back(std::make_unique<char[]>(size % 97));
  }
}

}  // namespace
}  // namespace ffkit
