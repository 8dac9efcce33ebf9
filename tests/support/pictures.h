// Small pictures for tests.
#pragma once

#include <string>
#include <vector>

#include <ffkit/image/image_codec.h>

namespace ffkit::testing {

// A JPEG of size x size pixels whose content depends on `number`; different numbers give different
// bytes.
inline std::string jpeg_picture(int number, int size = 16) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < size * size; ++i) {
    pixels.push_back(static_cast<uint8_t>(number * 37));
    pixels.push_back(static_cast<uint8_t>(number / 7 * 41));
    pixels.push_back(static_cast<uint8_t>(i * (1 + number % 5)));
  }
  const std::vector<std::byte> jpeg =
      encode_jpeg({.data = pixels.data(), .width = size, .height = size, .stride = 3 * size});
  return {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()};
}

}  // namespace ffkit::testing
