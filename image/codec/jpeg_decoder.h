// JpegDecoder: pixels of JPEG pictures by libjpeg-turbo, as files and in the dct code; keeps
// decompressor and buffers between pictures. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/image/image_info.h>

#include "codec/pixel_buffer.h"
#include "dct/dct_file.h"
#include "jpeg/jpeg_bits.h"
#include "jpeg/libjpeg.h"

namespace ffkit {

// Who decodes a JPEG's coefficients in libjpeg's place, hooked in where it has its entropy decoder.

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

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Begins a picture, a JPEG or its dct code, by reading its header. `data` must stay until the
  // last read() of it.
  ImageInfo begin(std::span<const std::byte> data);

  // Whether an end of image stands behind the header that begin() has read. Where none does, the
  // file may have been cut. A dct code is always whole.
  bool has_end() const;

  // Whether a decode at 1/denominator of the size shows the picture well. Rare samplings, such as
  // 2x4, would have chroma of half the height.
  bool can_scale(int denominator);

  struct Part {
    RgbView pixels;
    int x = 0;  // of pixels' top left corner in the (scaled) picture
    int y = 0;
  };
  // Decodes at least `region`, in pixels of the picture at 1/denominator (1, 2, 4 or 8) of its
  // size, rounded up. Once for each begin(). The pixels are those of a decode of the whole picture
  // at that scale; the view lives until the next begin().
  Part read(const Rect& region, int denominator);

  // Whether `jpeg`, which is good, gives the same pixels with JpegHuffman, and from its dct code
  // with JpegDct, as by libjpeg alone, whole and in part.
  static bool hooks_agree(std::span<const std::byte> jpeg);
  // Whether both are built and agree on a built-in picture, which is looked at once. The libjpeg of
  // this process may be another one than that of the build. Without them a dct code is made a JPEG
  // again, which libjpeg decodes.
  static bool uses_hooks();

 private:
  // Keeps no tables from picture to picture. libjpeg itself does, in the pool of what lives as long
  // as the decompressor, as MJPEG's pictures without tables want it; here that pool is that of the
  // picture from the first picture on.
  struct Decompressor : jpeg_decompress_struct {
    void* (*alloc_small)(j_common_ptr info, int pool, size_t num_bytes) = nullptr;  // libjpeg's
    void keep_nothing();
    void forget_tables();
  };

  // Who decodes the coefficients.
  enum class Entropy { libjpeg, own_huffman, dct };

  static void init_source(j_decompress_ptr) {}
  static boolean fill_input_buffer(j_decompress_ptr info);
  static void skip_input_data(j_decompress_ptr info, long num_bytes);
  int begin_jpeg(std::span<const std::byte> jpeg);
  Part read_dct(const Rect& region, int denominator);
  Part read(const Rect& region, int denominator, Entropy entropy);
  void set_scale(int denominator);
  std::span<const jpeg_component_info> components() const {
    return {info_.comp_info, static_cast<size_t>(info_.num_components)};
  }
  bool is_enlarged_in_part(const jpeg_component_info& component) const;
  bool is_incomplete() const;
  bool can_take_part() const;
  void attach(Entropy entropy, JDIMENSION x, JDIMENSION width);
  void read_rows(uint8_t* pixels, ptrdiff_t stride, int num_rows);
  bool agrees_on(std::span<const std::byte> jpeg, std::span<const std::byte> dct,
                 const Rect& region, int denominator);

  JpegErrors errors_;
  Decompressor info_ = {};
  jpeg_source_mgr source_ = {};
  JpegHuffman huffman_;
  JpegDct dct_;
  bool is_attached_ = false;  // one of the two
  std::span<const std::byte> data_;
  bool is_dct_ = false;  // data_, whose parts are in dct_file_
  DctFile dct_file_;
  std::span<const std::byte> jpeg_;  // what libjpeg reads: data_ or, of a dct code, the head
  std::vector<std::byte> rebuilt_;   // from a dct code
  PixelBuffer pixels_;
  PixelBuffer cmyk_row_;
};

// The size a JPEG of `size` pixels has when decoded at 1/denominator.
inline int scaled_jpeg_size(int size, int denominator) {
  return (size + denominator - 1) / denominator;
}

// At which fraction of its size a part is decoded: the largest of 1, 2, 4, 8 that leaves at least
// min_width x min_height of the region; 1 where both are 0.
inline int choose_denominator(const Rect& region, int min_width, int min_height) {
  if (min_width <= 0 && min_height <= 0) return 1;
  int denominator = 8;
  while (denominator > 1 && (region.width < int64_t{denominator} * min_width ||
                             region.height < int64_t{denominator} * min_height)) {
    denominator /= 2;
  }
  return denominator;
}

}  // namespace ffkit
