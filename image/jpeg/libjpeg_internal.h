// libjpeg's internal interface, of which only the entropy decoder's entry point is used.
// image/CMakeLists.txt names the versions it was tested with. Nothing in builds without
// FFKIT_JPEG_HUFFMAN.
#pragma once

#include "jpeg/libjpeg.h"

#ifdef FFKIT_JPEG_HUFFMAN
#include <jpegint.h>  // has no guard of its own

namespace ffkit {

// Whether the frame is one scan of sequential Huffman codes of 8 bits without restarts: what the
// entropy decoders of our own take. After jpeg_start_decompress().
inline bool is_one_plain_scan(jpeg_decompress_struct& info) {
  return !info.progressive_mode && !info.arith_code && !jpeg_has_multiple_scans(&info) &&
         info.restart_interval == 0 && info.comps_in_scan == info.num_components &&
         info.data_precision == 8;
}

}  // namespace ffkit
#endif
