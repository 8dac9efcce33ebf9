// JpegHead: what the header of a JPEG says of its scan, read without libjpeg, and more strictly;
// and what stands behind the scan. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include <ffkit/image/dct_picture.h>

#include "dct/dct_file.h"
#include "jpeg/libjpeg.h"

namespace ffkit {

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

}  // namespace ffkit
