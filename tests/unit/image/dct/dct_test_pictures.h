// JPEGs that the dct code takes.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encode_for_test.h"
#include "test_images.h"

namespace ffkit::testing {

// Black and white dots: the largest coefficients that there are.
inline Picture make_noise(int width, int height) {
  std::mt19937 random(7);
  Picture picture = make_picture(width, height);
  for (uint8_t& value : picture.rgb) value = (random() & 1) != 0 ? 255 : 0;
  return picture;
}

// Every sampling, size, quality and kind of table that matters.
inline std::vector<NamedJpeg> jpegs_for_dct() {
  std::vector<NamedJpeg> list;
  const auto add = [&](const std::string& name, const Picture& picture, const JpegKind& kind) {
    list.push_back({name, encode_jpeg_as(picture, kind)});
  };
  for (const int size : {1, 7, 8, 9, 16, 17, 33}) {
    const std::string name = "of side " + std::to_string(size);
    add(name, make_picture(size, size), {});
    add(name + ", grey", make_picture(size, 2 * size + 1), {.stored = JCS_GRAYSCALE});
    add(name + ", 4:4:4", make_picture(3 * size, size), {.h_samp = 1, .v_samp = 1});
  }
  for (const auto& [h, v] : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}) {
    const std::string name = "of sampling " + std::to_string(h) + "x" + std::to_string(v);
    add(name, make_picture(203, 131), {.h_samp = h, .v_samp = v});
    add(name + ", optimised", make_picture(150, 90), {.h_samp = h, .v_samp = v, .optimized = true});
  }
  for (const int quality : {1, 5, 30, 75, 96, 100}) {
    const std::string name = "of quality " + std::to_string(quality);
    add(name, make_picture(160, 120), {.quality = quality});
    add(name + ", noise", make_noise(83, 61),
        {.h_samp = 1, .v_samp = 1, .quality = quality, .optimized = quality < 50});
  }
  add("RGB", make_picture(70, 50), {.h_samp = 1, .v_samp = 1, .stored = JCS_RGB});
  add("flat", {64, 48, std::vector<uint8_t>(64 * 48 * 3, 77)}, {});
  // The first escape is more than 126 blocks away from the row's first block.
  Picture late{1100, 8, std::vector<uint8_t>(1100 * 8 * 3, 77)};
  for (size_t i = 0; i < late.rgb.size(); ++i) {
    if (i % 3300 > 3270) late.rgb[i] = i % 2 == 0 ? 255 : 0;
  }
  add("noisy at the right", late, {.stored = JCS_GRAYSCALE, .quality = 100});
  return list;
}

}  // namespace ffkit::testing
