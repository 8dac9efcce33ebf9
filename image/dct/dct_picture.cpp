#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include <ffkit/base/error.h>
#include <ffkit/image/dct_picture.h>

#include "base/make_error.h"
#include "dct/dct_file.h"
#include "dct/dct_kernels.h"
#include "dct/dct_row_writer.h"
#include "dct/jpeg_scan.h"

namespace ffkit {
namespace {

// Places of the zigzag order, one bit each: of a coefficient in natural order; and [tile][mask], of
// those of a tile.
constexpr std::array<uint64_t, 64> kZigzagPlace = [] {
  std::array<uint64_t, 64> bits = {};
  for (size_t place = 0; place < 64; ++place) bits[kNaturalOrder[place]] = uint64_t{1} << place;
  return bits;
}();
constexpr auto kZigzagPlaces = [] {
  std::array<std::array<uint64_t, 256>, DctTables::kTiles> places = {};
  for (size_t tile = 0; tile < DctTables::kTiles; ++tile) {
    for (size_t mask = 0; mask < 256; ++mask) {
      for (size_t bit = 0; bit < 8; ++bit) {
        if ((mask >> bit & 1) == 0) continue;
        places[tile][mask] |= kZigzagPlace[DctTables::place(tile) + bit / 4 * 8 + bit % 4];
      }
    }
  }
  return places;
}();

void put_u32(std::vector<std::byte>& out, size_t at, size_t value) {
  const auto number = static_cast<uint32_t>(value);
  std::memcpy(out.data() + at, &number, sizeof(number));
}

}  // namespace

bool is_dct_picture(std::span<const std::byte> image) {
  return image.size() >= DctFile::kMagicBytes &&
         std::memcmp(image.data(), DctFile::kMagic.data(), DctFile::kMagicBytes) == 0;
}

struct DctTranscoder::Impl {
  std::optional<DctRefusal> encode(std::span<const std::byte> jpeg, std::vector<std::byte>& out) {
    out.clear();
    const auto refusal = write_dct(jpeg, out);
    if (refusal) {
      out.clear();
      return refusal;
    }
    // The proof. The scan is the one that JpegScanWriter makes of its coefficients, and what was
    // written gives them back, read as any reader does it; else the JPEG itself is made again.
    if (!(scan_reader.is_plain() && has_coefficients(out)) && !is_rebuilt(jpeg, out)) {
      out.clear();
      return DctRefusal::not_exact;
    }
    return std::nullopt;
  }

  std::optional<DctRefusal> write_dct(std::span<const std::byte> jpeg,
                                      std::vector<std::byte>& out) {
    if (const auto refusal = head.read(jpeg)) return refusal;
    const DctGeometry& geometry = head.geometry();
    scan_reader.begin(head, jpeg);
    coefficients.begin(geometry);
    for (size_t i = 0; i < geometry.num_rows * geometry.mcus_per_row; ++i) {
      alignas(16) int16_t dc[DctGeometry::kMaxBlocksInMcu];
      std::memset(blocks, 0, 128 * geometry.blocks_in_mcu);
      if (!scan_reader.read_mcu(blocks, dc) || !coefficients.add_mcu(blocks, dc)) {
        return DctRefusal::damaged;
      }
    }
    const auto tail = jpeg.subspan(scan_reader.end());
    if (const auto refusal = refuse_tail(tail)) return refusal;
    const auto padding = scan_reader.padding();
    if (!padding) return DctRefusal::unused_bytes;
    const DctComponentCodes codes = choose_dct_codes(coefficients, geometry.num_components);
    return write_file(jpeg.first(head.num_bytes()), tail, *padding, codes, out);
  }

  std::optional<DctRefusal> write_file(std::span<const std::byte> head_bytes,
                                       std::span<const std::byte> tail, uint8_t padding,
                                       const DctComponentCodes& codes,
                                       std::vector<std::byte>& out) {
    constexpr uint64_t kMaxBytes = std::numeric_limits<uint32_t>::max();
    const DctGeometry& geometry = head.geometry();
    if (tail.size() > kMaxBytes || head_bytes.size() > kMaxBytes) return DctRefusal::too_large;
    out.resize(DctFile::kHeaderBytes + DctFile::kCodeBytes * geometry.num_components);
    std::memcpy(out.data(), DctFile::kMagic.data(), DctFile::kMagicBytes);
    out[6] = std::byte{DctFile::kVersion};
    out[7] = std::byte{padding};
    put_u32(out, 12, head_bytes.size());
    put_u32(out, 16, tail.size());
    put_u32(out, 20, geometry.num_rows);
    out[24] = static_cast<std::byte>(geometry.num_components);
    for (size_t c = 0; c < geometry.num_components; ++c) {
      std::byte* const at = out.data() + DctFile::kHeaderBytes + DctFile::kCodeBytes * c;
      for (size_t i = 0; i < codes[c].widths.size(); ++i) {
        at[i / 2] |= static_cast<std::byte>(codes[c].widths[i] << (4 * (i % 2)));
      }
      std::memcpy(at + 16, codes[c].common_flags.data(), codes[c].common_flags.size());
    }
    out.insert(out.end(), head_bytes.begin(), head_bytes.end());
    out.insert(out.end(), tail.begin(), tail.end());
    const size_t index_at = out.size();
    out.resize(index_at + 4 * geometry.num_rows);
    const size_t rows_at = out.size();
    row_writer.begin(geometry, codes, coefficients);
    for (size_t row = 0; row < geometry.num_rows; ++row) {
      row_writer.write(out);
      if (out.size() + DctFile::kSlackBytes > kMaxBytes) return DctRefusal::too_large;
      put_u32(out, index_at + 4 * row, out.size() - rows_at);
    }
    out.resize(out.size() + DctFile::kSlackBytes);
    put_u32(out, 8, out.size());
    return std::nullopt;
  }

  // Whether the coefficients of `dct` are those that were written.
  bool has_coefficients(std::span<const std::byte> dct) {
    try {
      DctFile file;
      file.open(dct);
      const DctGeometry& geometry = head.geometry();
      row_reader.begin(geometry, file.codes());
      coefficients.begin_again();
      for (size_t row = 0; row < geometry.num_rows; ++row) {
        if (!row_reader.open(file.row(row))) return false;
        for (size_t mcu = 0; mcu < geometry.mcus_per_row; ++mcu) {
          std::memset(blocks, 0, 128 * geometry.blocks_in_mcu);
          if (!row_reader.read_mcu(blocks) || !coefficients.is_next(blocks)) return false;
        }
        if (!row_reader.is_at_end()) return false;
      }
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  bool is_rebuilt(std::span<const std::byte> jpeg, std::span<const std::byte> dct) {
    try {
      decode_to_jpeg(dct, rebuilt);
    } catch (const Error&) {
      return false;
    }
    return jpeg.size() == rebuilt.size() &&
           std::memcmp(jpeg.data(), rebuilt.data(), jpeg.size()) == 0;
  }

  // Throws Error and std::bad_alloc.
  void decode_to_jpeg(std::span<const std::byte> dct, std::vector<std::byte>& out) {
    DctFile file;
    file.open(dct);
    if (head.read(file.head()) || head.num_bytes() != file.head().size()) {
      throw_broken_dct("its JPEG header is of an unsupported kind");
    }
    const DctGeometry& geometry = head.geometry();
    if (geometry.num_components != file.num_components() || geometry.num_rows != file.num_rows()) {
      throw_broken_dct("its JPEG header belongs to another picture");
    }
    row_reader.begin(geometry, file.codes());
    out.assign(file.head().begin(), file.head().end());
    out.reserve(dct.size());
    scan_writer.begin(head);
    for (size_t row = 0; row < geometry.num_rows; ++row) {
      if (!row_reader.open(file.row(row)) || !write_row(geometry)) {
        throw_broken_dct("a row of blocks is damaged");
      }
    }
    if (!scan_writer.finish(file.padding(), out)) throw_broken_dct("its padding is wrong");
    out.insert(out.end(), file.tail().begin(), file.tail().end());
  }

  bool write_row(const DctGeometry& geometry) {
    for (size_t mcu = 0; mcu < geometry.mcus_per_row; ++mcu) {
      std::memset(blocks, 0, 128 * geometry.blocks_in_mcu);
      uint64_t places[DctGeometry::kMaxBlocksInMcu];
      uint64_t escaped[DctGeometry::kMaxBlocksInMcu] = {};
      const uint8_t* mask = row_reader.masks();
      for (size_t i = 0; i < geometry.blocks_in_mcu; ++i) {
        places[i] = 0;
        for (unsigned flags = row_reader.flags()[i]; flags != 0; flags &= flags - 1) {
          places[i] |= kZigzagPlaces[std::countr_zero(flags)][*mask++];
        }
      }
      if (!row_reader.read_mcu(blocks, escaped)) return false;
      for (size_t i = 0; i < geometry.blocks_in_mcu; ++i) {
        for (; escaped[i] != 0; escaped[i] &= escaped[i] - 1) {
          places[i] |= kZigzagPlace[std::countr_zero(escaped[i])];
        }
        if (!scan_writer.write_block(geometry.component_of_block[i], blocks + 64 * i, places[i])) {
          return false;
        }
      }
    }
    return row_reader.is_at_end();
  }

  JpegHead head;
  JpegScanReader scan_reader;
  DctCoefficients coefficients;
  DctRowWriter row_writer;
  DctRowReader row_reader;
  JpegScanWriter scan_writer;
  std::vector<std::byte> rebuilt;
  alignas(64) int16_t blocks[64 * DctGeometry::kMaxBlocksInMcu];
};

DctTranscoder::DctTranscoder() : impl_(errors_only("", [] { return std::make_unique<Impl>(); })) {}
DctTranscoder::~DctTranscoder() = default;
DctTranscoder::DctTranscoder(DctTranscoder&&) noexcept = default;
DctTranscoder& DctTranscoder::operator=(DctTranscoder&&) noexcept = default;

std::optional<DctRefusal> DctTranscoder::encode(std::span<const std::byte> jpeg,
                                                std::vector<std::byte>& out) {
  return errors_only("", [&] { return impl_->encode(jpeg, out); });
}

void DctTranscoder::decode_to_jpeg(std::span<const std::byte> dct, std::vector<std::byte>& out) {
  errors_only("", [&] { impl_->decode_to_jpeg(dct, out); });
}

std::optional<DctRefusal> encode_dct_picture(std::span<const std::byte> jpeg,
                                             std::vector<std::byte>& out) {
  return DctTranscoder().encode(jpeg, out);
}

std::vector<std::byte> decode_dct_to_jpeg(std::span<const std::byte> dct) {
  std::vector<std::byte> jpeg;
  DctTranscoder().decode_to_jpeg(dct, jpeg);
  return jpeg;
}

}  // namespace ffkit
