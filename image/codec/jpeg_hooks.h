// Who decodes a JPEG's coefficients in libjpeg's place, hooked in where it has its entropy decoder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/pixel_buffer.h"
#include "dct/dct_file.h"
#include "dct/dct_row_reader.h"
#include "jpeg/jpeg_bits.h"
#include "jpeg/jpeg_huffman_table.h"
#include "jpeg/libjpeg.h"

namespace ffkit {

// JpegHuffman: a faster Huffman decoder for libjpeg, for the usual JPEG: baseline, one scan, no
// restart markers.
//
// libjpeg spends most of its time there. This one takes the byte stuffing out of the whole scan
// beforehand, so that 8 bytes can be loaded at once, finds code, run and value in one table entry,
// and does not store what a cropped decode leaves out. It is hooked in after
// jpeg_start_decompress(). Whatever looks irregular is left to libjpeg, so that warnings and errors
// stay its own:
//
//   attach() returns false  ->  libjpeg's decoder continues
//   failed() returns true   ->  decode the picture again without attaching
//
// Tried on ImageNet photographs without gain: working out every value without a branch instead of
// keeping small ones in the table; loading before every symbol instead of when few bits are left;
// lookups of 9 or 11 bits (both slower for regions).
//
// Keeps its tables and memory between pictures. Not thread-safe.
class JpegHuffman {
 public:
  JpegHuffman() = default;
  JpegHuffman(const JpegHuffman&) = delete;
  JpegHuffman& operator=(const JpegHuffman&) = delete;

  // Whether the build has it (FFKIT_JPEG_HUFFMAN).
  static bool is_built();
  // Whether the frame of a JPEG is sequential and Huffman coded: attach() is only for such ones.
  // Lossless and arithmetic ones have other decoders behind libjpeg's interface.
  static bool can_take(std::span<const std::byte> jpeg);

  // Precondition: can_take(). Takes over the entropy decoding of `info`, whose source holds the
  // whole rest of the picture, and its client_data. Only the blocks of MCU columns first_column ..
  // last_column will be asked for. Returns false where the picture is not of the usual kind.
  bool attach(jpeg_decompress_struct& info, int first_column, int last_column);

  // Something irregular was met since the last attach(): the pixels are not to be trusted.
  bool failed() const { return failed_; }

 private:
  static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  static bool skip_symbol(JpegBits& bits, const JpegHuffmanTable& table, uint32_t& k);
  void remove_stuffing(const jpeg_source_mgr& source);
  static bool skip_ac(JpegBits& bits, const JpegHuffmanTable& table);

  std::array<JpegHuffmanTable, NUM_HUFF_TBLS> dc_tables_;
  std::array<JpegHuffmanTable, NUM_HUFF_TBLS> ac_tables_;
  struct BlockKind {
    const JpegHuffmanTable* dc;
    const JpegHuffmanTable* ac;
    int component;
  };
  std::array<BlockKind, D_MAX_BLOCKS_IN_MCU> kinds_;
  std::array<int, MAX_COMPS_IN_SCAN> last_dc_;

  PixelBuffer scan_;
  const uint8_t* next_ = nullptr;  // next byte to be loaded
  const uint8_t* end_ = nullptr;
  uint64_t window_ = 0;  // the next bits, left-aligned
  int num_bits_ = 0;     // of window_ that are valid

  int column_ = 0;
  int num_columns_ = 0;
  int first_column_ = 0;
  int last_column_ = 0;
  bool failed_ = false;
};

// JpegDct: gives libjpeg the coefficients of a picture in the dct code (format/DCT.md), where it
// would decode Huffman codes. Hooked in as JpegHuffman is, after jpeg_start_decompress(); so all
// that follows is libjpeg's, as for the JPEG.
//
// Only rows of MCUs that a decode needs are looked at. Keeps its memory between pictures. Not
// thread-safe.
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
