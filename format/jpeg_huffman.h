// JpegHuffman: a faster Huffman decoder for libjpeg, for the usual JPEG: baseline, one scan, no restart markers.
//
// libjpeg spends most of its time there. This one takes the byte stuffing out of the whole scan beforehand, so that 8 bytes can be
// loaded at once, finds code, run and value in one table entry, and does not store what a cropped decode leaves out. It is hooked in
// after jpeg_start_decompress(). Whatever looks irregular is left to libjpeg, so that warnings and errors stay its own:
//
//   attach() false  ->  libjpeg's decoder goes on        failed() true  ->  decode the image again without attaching
//
// Keeps its tables and memory between images. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "libjpeg.h"
#include "pixel_buffer.h"

namespace ffkit {

class JpegHuffman {
 public:
  JpegHuffman() = default;
  JpegHuffman(const JpegHuffman&) = delete;
  JpegHuffman& operator=(const JpegHuffman&) = delete;

  // Takes over the entropy decoding of `info`, whose source holds the whole rest of the image, and its client_data. Only the blocks
  // of MCU columns first_column .. last_column will be asked for. Returns false where the image is not of the usual kind.
  bool attach(jpeg_decompress_struct& info, int first_column, int last_column);

  // Something irregular was met since the last attach(): the pixels are not to be trusted.
  bool failed() const { return failed_; }

 private:
  static constexpr int kLookupBits = 10;
  static constexpr int kSkipBits = 11;

  // What the next kLookupBits bits begin with. In `entries`, from the lowest bit: 6 bits total length of code and value, 6 bits
  // coefficients to advance, 4 bits size of the value, 16 bits value.
  struct Table {
    std::array<uint32_t, 1 << kLookupBits> entries;
    // For skipping: all symbols that lie completely within the next kSkipBits bits, up to an end of block. From the lowest bit:
    // 5 bits their length, 1 bit end of block, 10 bits coefficients to advance without that. 0: not even one fits.
    std::array<uint16_t, 1 << kSkipBits> skips;
    // For longer codes, of length n: codes below limit[n] (left-aligned to 16 bits) are symbols[code + offset[n]].
    std::array<uint32_t, 18> limit;
    std::array<int, 17> offset;
    std::array<uint8_t, 256> symbols;
    // The table it was built from.
    std::array<uint8_t, 17> source_bits = {};
    std::array<uint8_t, 256> source_symbols = {};
    bool is_built = false;
  };
  struct Bits;

  static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  static void build(const JHUFF_TBL& source, bool is_dc, Table& table);
  static void build_skips(Table& table);
  static bool skip_symbol(Bits& bits, const Table& table, uint32_t& k);
  static uint32_t long_code(const Table& table, uint64_t window);
  void remove_stuffing(const jpeg_source_mgr& source);
  bool decode_dc(Bits& bits, const Table& table, int& last_dc);
  bool decode_ac(Bits& bits, const Table& table, JCOEF* block);
  bool skip_ac(Bits& bits, const Table& table);

  std::array<Table, NUM_HUFF_TBLS> dc_tables_;
  std::array<Table, NUM_HUFF_TBLS> ac_tables_;
  struct BlockKind {
    const Table* dc;
    const Table* ac;
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

}  // namespace ffkit
