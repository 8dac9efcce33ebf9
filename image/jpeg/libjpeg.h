// libjpeg's interface; jpeglib.h itself does not include what it needs.
#pragma once

// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace ffkit {

// The side of a block in pixels, after scaling: of a component, and the least of all components.
// libjpeg's ABIs 7 and 8 have two names for it; libjpeg-turbo sets both alike.
inline int scaled_block_size(const jpeg_component_info& component) {
#if JPEG_LIB_VERSION >= 70
  return component.DCT_h_scaled_size;
#else
  return component.DCT_scaled_size;
#endif
}
inline int least_scaled_block_size(const jpeg_decompress_struct& info) {
#if JPEG_LIB_VERSION >= 70
  return info.min_DCT_h_scaled_size;
#else
  return info.min_DCT_scaled_size;
#endif
}

}  // namespace ffkit
