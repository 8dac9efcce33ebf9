// The only scan of a JPEG: its Huffman codes to coefficients, and from coefficients. Both classes
// keep their memory between pictures. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/image/dct_picture.h>

#include "dct/dct_file.h"
#include "jpeg/jpeg_bits.h"

namespace ffkit {

// JpegHead: what the header of a JPEG says of its scan, read without libjpeg, and more strictly;
// and what stands behind the scan. Not thread-safe.
class JpegHead {
 public:
  // Reads the header of `jpeg` up to its first scan. Returns why the picture cannot have a dct
  // code, or nothing when all is well.
  std::optional<DctRefusal> read(std::span<const std::byte> jpeg);

  // The rest is of the header that read() was content with.

  // Bytes up to the end of the scan's header.
  size_t num_bytes() const { return num_bytes_; }
  const DctGeometry& geometry() const { return geometry_; }
  // Huffman tables of a component of the scan; their codes are free of contradictions.
  const JHUFF_TBL& dc_table(size_t component) const { return tables_[0][scan_[component].dc]; }
  const JHUFF_TBL& ac_table(size_t component) const { return tables_[1][scan_[component].ac]; }

 private:
  struct FrameComponent {
    unsigned id, h, v;
  };
  struct ScanComponent {
    size_t index, dc, ac;
  };

  std::optional<DctRefusal> read_frame(std::span<const std::byte> content);
  std::optional<DctRefusal> read_scan(std::span<const std::byte> content);
  bool read_tables(std::span<const std::byte> content);
  bool set_geometry();

  bool has_frame_ = false;
  unsigned width_ = 0;
  unsigned height_ = 0;
  unsigned restart_interval_ = 0;
  size_t num_components_ = 0;
  std::array<FrameComponent, DctGeometry::kMaxComponents> frame_ = {};
  std::array<ScanComponent, DctGeometry::kMaxComponents> scan_ = {};
  std::array<std::array<JHUFF_TBL, NUM_HUFF_TBLS>, 2> tables_;  // DC, AC
  std::array<std::array<bool, NUM_HUFF_TBLS>, 2> has_table_ = {};
  size_t num_bytes_ = 0;
  DctGeometry geometry_;
};

// Why a picture with this behind its only scan, its tail, has no dct code; nothing when an end of
// image comes, be it behind fill bytes, comments or other segments.
std::optional<DctRefusal> refuse_tail(std::span<const std::byte> tail);

// The coefficients of the scan, MCU by MCU, and whether JpegScanWriter makes the same scan of them.
class JpegScanReader {
 public:
  // `head` must stay while the scan is read. Throws std::bad_alloc.
  void begin(const JpegHead& head, std::span<const std::byte> jpeg);

  // The next MCU: its blocks, one behind the other, which must be 0, get the AC coefficients; `dc`
  // the DC coefficients. Returns false where the scan is broken, or a DC coefficient out of bounds.
  bool read_mcu(int16_t* blocks, int16_t* dc);

  // Behind the last MCU: the bits that fill up the scan's last byte, or nothing where more follows
  // in the scan.
  std::optional<uint8_t> padding() const;
  // Whether JpegScanWriter gives the MCUs read so far the bits that they have here. False may also
  // be said of a rare scan that comes out the same. Coefficients leave an encoder three choices:
  // which of several codes a symbol has; sixteen zeros before the end of a block; and which symbol
  // ends it.
  bool is_plain() const { return is_plain_; }
  // Bytes of the file up to the end of the scan.
  size_t end() const { return end_in_file_; }

 private:
  void remove_stuffing(std::span<const std::byte> scan);

  const DctGeometry* geometry_ = nullptr;
  // Those of a component: its own, or those of another that has the same.
  std::array<const JpegHuffmanTable*, DctGeometry::kMaxComponents> dc_table_ = {};
  std::array<const JpegHuffmanTable*, DctGeometry::kMaxComponents> ac_table_ = {};
  std::array<JpegHuffmanTable, DctGeometry::kMaxComponents> dc_tables_;
  std::array<JpegHuffmanTable, DctGeometry::kMaxComponents> ac_tables_;
  std::array<int, DctGeometry::kMaxComponents> last_dc_ = {};
  bool is_plain_ = false;
  std::vector<uint8_t> scan_;
  const uint8_t* end_ = nullptr;
  size_t end_in_file_ = 0;
  JpegBits bits_;
};

// Huffman codes of the scan from coefficients.
class JpegScanWriter {
 public:
  void begin(const JpegHead& head);

  // One block of a component, in the order of the scan: 64 coefficients in natural order. Bit k of
  // `places` says that the one at place k of the zigzag order is not 0; bit 0 counts for nothing.
  // Returns false where a coefficient has no code in the tables. Throws std::bad_alloc.
  bool write_block(size_t component, const int16_t* block, uint64_t places);

  // Fills up the last byte with the lowest bits of `padding`, and appends the scan to `out`.
  // Returns false where other bits of `padding` are set. Throws std::bad_alloc.
  bool finish(uint8_t padding, std::vector<std::byte>& out);

 private:
  // From the lowest bit: 5 bits number of bits, then the code. Bit 31 is set where there is none.
  struct Codes {
    std::array<uint32_t, 256> of_symbol;
    void build(const JHUFF_TBL& table);
  };
  // Codes of AC coefficients from -32 to 31 with their bits: [64 * run + 32 + coefficient]. That is
  // nearly all of them.
  struct SmallCodes {
    std::array<uint32_t, 16 * 64> of_coefficient;
    void build(const Codes& codes);
  };
  struct Output;
  static uint64_t with_bits(const std::array<uint32_t, 256>& codes, unsigned run, int value);

  std::array<Codes, DctGeometry::kMaxComponents> dc_codes_;
  std::array<Codes, DctGeometry::kMaxComponents> ac_codes_;
  std::array<SmallCodes, DctGeometry::kMaxComponents> small_codes_;
  std::array<int, DctGeometry::kMaxComponents> last_dc_ = {};
  std::vector<std::byte> scan_;  // without byte stuffing
  size_t used_ = 0;              // bytes of it
  uint64_t window_ = 0;          // the last bits, less than a byte, in its highest
  unsigned num_bits_ = 0;
};

}  // namespace ffkit
