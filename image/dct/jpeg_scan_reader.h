// JpegScanReader: the coefficients of a JPEG's only scan, MCU by MCU, and whether JpegScanWriter
// makes the same scan of them. Keeps tables and memory between pictures. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dct/jpeg_head.h"
#include "jpeg/jpeg_bits.h"

namespace ffkit {

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

}  // namespace ffkit
