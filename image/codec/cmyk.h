// CMYK to RGB as Pillow's convert("RGB") does it.
#pragma once

#include <cstdint>

namespace ffkit {

// Converts a row of `width` pixels as libjpeg gives them for JCS_CMYK. All four-component JPEGs are
// taken as inverted (Adobe's convention: 255 is no ink), as Pillow does. `rgb` may be the same
// memory as `cmyk`.
void inverted_cmyk_to_rgb(const uint8_t* cmyk, uint8_t* rgb, int width);

}  // namespace ffkit
