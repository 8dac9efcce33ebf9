#include "codec/cmyk.h"

namespace ffkit {

void inverted_cmyk_to_rgb(const uint8_t* cmyk, uint8_t* rgb, int width) {
  for (int x = 0; x < width; ++x) {
    const int white = cmyk[4 * x + 3];
    int channels[3];
    for (int c = 0; c < 3; ++c) {
      // Pillow's cmyk2rgb: white - MULDIV255(ink, white), which divides by 255 with rounding.
      const int product = (255 - cmyk[4 * x + c]) * white + 128;
      channels[c] = white - (((product >> 8) + product) >> 8);
    }
    for (int c = 0; c < 3; ++c) rgb[3 * x + c] = static_cast<uint8_t>(channels[c]);
  }
}

}  // namespace ffkit
