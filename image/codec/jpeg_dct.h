// JpegDct: gives libjpeg the coefficients of a picture in the dct code (format/DCT.md), where it
// would decode Huffman codes. Hooked in as JpegHuffman is, after jpeg_start_decompress(); so all
// that follows is libjpeg's, as for the JPEG.
//
// Only rows of MCUs that a decode needs are looked at. Keeps its memory between pictures. Not
// thread-safe.
#pragma once

#include <cstddef>

#include "dct/dct_file.h"
#include "dct/dct_row_reader.h"
#include "jpeg/libjpeg.h"

namespace ffkit {

class JpegDct {
 public:
  JpegDct() = default;
  JpegDct(const JpegDct&) = delete;
  JpegDct& operator=(const JpegDct&) = delete;

  // Precondition: JpegHuffman::can_take() of the file's head, and the build has FFKIT_JPEG_HUFFMAN.
  // Takes over the entropy decoding of `info`, which has read this head, and its client_data. Only
  // the blocks of MCU columns first_column .. last_column will be asked for. Returns false where
  // `file` is not of the picture that its head is of. `file` must stay while the picture is
  // decoded. Throws std::bad_alloc.
  bool attach(jpeg_decompress_struct& info, int first_column, int last_column, const DctFile& file);

  // Something broken was met since the last attach(): the pixels are not to be trusted.
  bool failed() const { return failed_; }

 private:
  static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  bool read_mcu(JCOEF* blocks, size_t column);

  DctRowReader row_;
  const DctFile* file_ = nullptr;
  bool dc_alone_ = false;  // is asked for: an eighth of the size
  size_t num_blocks_ = 0;  // in an MCU
  size_t num_columns_ = 0;
  size_t first_column_ = 0;
  size_t last_column_ = 0;
  // Of the next MCU.
  size_t next_row_ = 0;
  size_t column_ = 0;
  bool failed_ = false;
};

}  // namespace ffkit
