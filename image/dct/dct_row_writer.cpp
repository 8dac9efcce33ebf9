#include "dct/dct_row_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "dct/dct_kernels.h"

namespace ffkit {
namespace {

constexpr uint64_t kEscapeBits = 24;

using WidthCounts = std::array<DctCoefficients::Counts, DctCoefficients::kMaxWidth + 2>;

// Bits of all values of a tile for four widths from small to large.
uint64_t cost_of(const WidthCounts& counts, const std::array<size_t, 4>& widths) {
  uint64_t bits = 0;
  size_t kind = 0;
  const size_t widest = widths.back();
  for (size_t width = 1; width < counts.size(); ++width) {
    const auto& [tiles, values] = counts[width];
    if (width > widest) {
      // About two of a tile's values are as wide as that: more where it is much wider.
      const uint64_t escapes = std::min(values, tiles * (width - widest));
      bits += (values - escapes) * widest + escapes * kEscapeBits;
      continue;
    }
    while (widths[kind] < width) ++kind;
    bits += values * widths[kind];
  }
  return bits;
}

std::array<size_t, 4> choose_widths(const WidthCounts& counts) {
  std::array<size_t, 4> best = {};
  uint64_t least = std::numeric_limits<uint64_t>::max();
  constexpr size_t kMax = DctTables::kMaxWidth;
  for (size_t a = 1; a <= kMax - 3; ++a) {
    for (size_t b = a + 1; b <= kMax - 2; ++b) {
      for (size_t c = b + 1; c <= kMax - 1; ++c) {
        for (size_t d = c + 1; d <= kMax; ++d) {
          const uint64_t bits = cost_of(counts, {a, b, c, d});
          if (bits >= least) continue;
          least = bits;
          best = {a, b, c, d};
        }
      }
    }
  }
  return best;
}

}  // namespace

void DctCoefficients::begin(const DctGeometry& geometry) {
  geometry_ = geometry;
  dc_.clear();
  blocks_.clear();
  num_values_ = 0;
  statistics_ = {};
  flag_counts_ = {};
}

bool DctCoefficients::add_mcu(const int16_t* blocks, const int16_t* dc) {
  const size_t count = geometry_.blocks_in_mcu;
  const size_t first = blocks_.size();
  dc_.insert(dc_.end(), dc, dc + count);
  blocks_.resize(first + count);
  const size_t room = num_values_ + 64 * count + 8;
  if (values_.size() < room) values_.resize(2 * room);
  const int16_t* const end =
      gather_dct_tiles(blocks, count, blocks_.data() + first, values_.data() + num_values_);
  num_values_ = static_cast<size_t>(end - values_.data());
  size_t widest = 0;
  for (size_t i = 0; i < count; ++i) {
    const DctBlockTiles& tiles = blocks_[first + i];
    auto& statistics = statistics_[geometry_.component_of_block[i]];
    ++flag_counts_[geometry_.component_of_block[i]][tiles.flags()];
    for (size_t tile = 0; tile < DctTables::kTiles; ++tile) {
      const size_t width = std::min<size_t>(tiles.widths[tile], kMaxWidth + 1);
      widest = std::max(widest, width);
      Counts& counts = statistics[tile][width];
      ++counts.tiles;
      counts.values += kDctTables.num_bits[tiles.masks[tile]];
    }
  }
  return widest <= kMaxWidth;
}

bool DctCoefficients::is_next(int16_t* blocks) {
  const size_t count = geometry_.blocks_in_mcu;
  unsigned different = 0;
  for (size_t i = 0; i < count; ++i) {
    different |= static_cast<unsigned>(blocks[64 * i] ^ dc_[next_block_ + i]);
    blocks[64 * i] = 0;
  }
  const int16_t* const next = values_.data() + next_value_;
  const int16_t* const end = match_dct_tiles(blocks, count, blocks_.data() + next_block_, next);
  if (different != 0 || end == nullptr) return false;
  next_block_ += count;
  next_value_ += static_cast<size_t>(end - next);
  return true;
}

DctComponentCodes choose_dct_codes(const DctCoefficients& coefficients, size_t num_components) {
  DctComponentCodes codes;
  for (size_t c = 0; c < num_components; ++c) {
    for (size_t tile = 0; tile < DctTables::kTiles; ++tile) {
      const std::array<size_t, 4> best = choose_widths(coefficients.statistics()[c][tile]);
      for (size_t kind = 0; kind < 4; ++kind) {
        codes[c].widths[4 * tile + kind] = static_cast<uint8_t>(best[kind]);
      }
    }
    std::array<uint32_t, 256> counts = coefficients.flag_counts()[c];
    for (uint8_t& flags : codes[c].common_flags) {
      const auto most = std::ranges::max_element(counts);
      flags = static_cast<uint8_t>(most - counts.begin());
      *most = 0;
    }
  }
  return codes;
}

namespace {

void append(std::vector<std::byte>& out, const void* bytes, size_t count) {
  const auto* begin = static_cast<const std::byte*>(bytes);
  out.insert(out.end(), begin, begin + count);
}

// Bits that a number takes in two's complement, none for 0.
size_t width_of(int number) {
  const int magnitude = number ^ (number >> 31);
  return number == 0 ? 0
                     : static_cast<size_t>(std::bit_width(static_cast<unsigned>(magnitude))) + 1;
}

// Appends the lowest `count` bits (at most 64, and no others set) to a bit stream that has room for
// 16 more bytes, 0 from the next bit's byte on but for the bits before it.
void put_bits(uint8_t* stream, size_t& num_bits, uint64_t bits, size_t count) {
  uint8_t* const at = stream + num_bits / 8;
  const size_t shift = num_bits % 8;
  const uint64_t low = at[0] | bits << shift;
  std::memcpy(at, &low, sizeof(low));
  at[8] = static_cast<uint8_t>(bits >> 1 >> (63 - shift));
  num_bits += count;
}

uint64_t lowest_bits(size_t count) {
  return ~uint64_t{0} >> (64 - count);
}

// The lowest `width` bits of 8 values, one behind the other. Four at a time, which takes no branch.
uint64_t packed(const int16_t* values, size_t width) {
  const uint64_t lanes = lowest_bits(width) * 0x0001000100010001;
  const auto four = [&](const int16_t* at) {
    uint64_t x;
    std::memcpy(&x, at, sizeof(x));
    x &= lanes;
    x = (x & 0x0000FFFF0000FFFF) | (x & 0xFFFF0000FFFF0000) >> (16 - width);
    return (x & 0xFFFFFFFF) | x >> 32 << (2 * width);
  };
  return four(values) | four(values + 4) << (4 * width);
}

}  // namespace

void DctRowWriter::begin(const DctGeometry& geometry, const DctComponentCodes& codes,
                         const DctCoefficients& coefficients) {
  geometry_ = geometry;
  coefficients_ = &coefficients;
  next_block_ = 0;
  next_value_ = coefficients.values().data();
  for (size_t c = 0; c < geometry.num_components; ++c) {
    flag_codes_[c].fill(3);
    for (uint8_t i = 0; i < 3; ++i) flag_codes_[c][codes[c].common_flags[i]] = i;
    for (size_t tile = 0; tile < DctTables::kTiles; ++tile) {
      for (size_t width = 0; width <= DctCoefficients::kMaxWidth; ++width) {
        uint8_t kind = 0;
        while (kind < 3 && codes[c].widths[4 * tile + kind] < width) ++kind;
        choices_[c][tile][width] = {kind, codes[c].widths[4 * tile + kind]};
      }
    }
  }
}

void DctRowWriter::write(std::vector<std::byte>& out) {
  const size_t num_blocks = geometry_.blocks_per_row();
  const auto dc = coefficients_->dc().subspan(next_block_, num_blocks);
  const auto blocks = coefficients_->blocks().subspan(next_block_, num_blocks);
  next_block_ += num_blocks;
  for (size_t c = 0; c < geometry_.num_components; ++c) write_dc(dc, c, out);

  flag_kinds_.assign((num_blocks + 3) / 4, 0);
  flags_.clear();
  // Three more, which are packed with the last.
  masks_.resize(8 * num_blocks);
  kinds_.resize(8 * num_blocks + 3);
  classes_.resize(2 * num_blocks);
  values_.resize(std::max(values_.size(), 64 * num_blocks + 16));
  values_[0] = 0;  // as put_bits() wants it
  num_tiles_ = 0;
  num_bits_ = 0;
  escapes_.clear();
  escape_block_ = 0;
  for (size_t i = 0; i < num_blocks;) {
    for (size_t in_mcu = 0; in_mcu < geometry_.blocks_in_mcu; ++in_mcu, ++i) {
      write_block(i, geometry_.component_of_block[in_mcu], blocks[i]);
    }
  }
  std::memset(kinds_.data() + num_tiles_, 0, 3);
  const size_t num_classes = (num_tiles_ + 3) / 4;
  for (size_t i = 0; i < num_classes; ++i) {
    uint32_t four;
    std::memcpy(&four, kinds_.data() + 4 * i, sizeof(four));
    classes_[i] = static_cast<uint8_t>(four | four >> 6 | four >> 12 | four >> 18);
  }
  const auto num_escapes = static_cast<uint32_t>(escapes_.size() / 3);
  append(out, &num_escapes, sizeof(num_escapes));
  append(out, flag_kinds_.data(), flag_kinds_.size());
  append(out, flags_.data(), flags_.size());
  append(out, masks_.data(), num_tiles_);
  append(out, classes_.data(), num_classes);
  append(out, escapes_.data(), escapes_.size());
  append(out, values_.data(), (num_bits_ + 7) / 8);
}

void DctRowWriter::write_dc(std::span<const int16_t> dc, size_t component,
                            std::vector<std::byte>& out) {
  const size_t in_mcu = geometry_.num_blocks[component];
  const size_t num_blocks = in_mcu * geometry_.mcus_per_row;
  component_dc_.clear();
  for (size_t mcu = 0; mcu < geometry_.mcus_per_row; ++mcu) {
    const auto begin = dc.begin() + static_cast<ptrdiff_t>(mcu * geometry_.blocks_in_mcu +
                                                           geometry_.first_block[component]);
    component_dc_.insert(component_dc_.end(), begin, begin + static_cast<ptrdiff_t>(in_mcu));
  }
  const auto difference = [&](size_t i) { return component_dc_[i] - component_dc_[i - 1]; };
  const int16_t first = component_dc_[0];
  append(out, &first, sizeof(first));
  const size_t num_groups = (num_blocks - 1 + 7) / 8;
  const size_t widths_at = out.size();
  out.resize(out.size() + (num_groups + 1) / 2);
  values_.resize(std::max(values_.size(), 2 * num_blocks + 16));
  values_[0] = 0;  // as put_bits() wants it
  size_t num_bits = 0;
  for (size_t group = 0; group < num_groups; ++group) {
    const size_t begin = 8 * group + 1;
    const size_t end = std::min(begin + 8, num_blocks);
    size_t width = 0;
    for (size_t i = begin; i < end; ++i) width = std::max(width, width_of(difference(i)));
    out[widths_at + group / 2] |= static_cast<std::byte>(width << (4 * (group % 2)));
    for (size_t i = begin; i < end; ++i) {
      const auto bits = static_cast<uint64_t>(difference(i)) & ((uint64_t{1} << width) - 1);
      put_bits(values_.data(), num_bits, bits, width);
    }
  }
  append(out, values_.data(), (num_bits + 7) / 8);
}

void DctRowWriter::write_block(size_t block, size_t component, const DctBlockTiles& tiles) {
  unsigned flags = 0;
  for (unsigned left = tiles.flags(); left != 0; left &= left - 1) {
    const auto tile = static_cast<size_t>(std::countr_zero(left));
    uint8_t mask = tiles.masks[tile];
    Choice choice = choices_[component][tile][tiles.widths[tile]];
    const int16_t* values = next_value_;
    if (choice.width < tiles.widths[tile]) {
      mask = split_escapes(block, tile, mask, choice.width);
      values = kept_.data();
      next_value_ += kDctTables.num_bits[tiles.masks[tile]];
      if (mask == 0) continue;
      size_t width = 1;
      for (size_t i = 0; i < kDctTables.num_bits[mask]; ++i) {
        width = std::max(width, width_of(values[i]));
      }
      choice = choices_[component][tile][width];
    } else {
      next_value_ += kDctTables.num_bits[mask];
    }
    flags |= 1U << tile;
    kinds_[num_tiles_] = choice.kind;
    masks_[num_tiles_++] = mask;
    const size_t num_bits = size_t{kDctTables.num_bits[mask]} * choice.width;
    put_bits(values_.data(), num_bits_, packed(values, choice.width) & lowest_bits(num_bits),
             num_bits);
  }
  const uint8_t code = flag_codes_[component][flags];
  flag_kinds_[block / 4] |= static_cast<uint8_t>(code << (2 * (block % 4)));
  if (code == 3) flags_.push_back(static_cast<uint8_t>(flags));
}

// Writes the values of the next tile that are wider than that as escapes. Puts the others into
// kept_, and returns their mask.
uint8_t DctRowWriter::split_escapes(size_t block, size_t tile, uint8_t mask, size_t widest) {
  size_t num_kept = 0;
  unsigned kept_mask = 0;
  for (size_t i = 0; i < kDctTables.num_bits[mask]; ++i) {
    const auto bit = static_cast<size_t>(kDctTables.set_bits[mask] >> (8 * i) & 7);
    const int value = next_value_[i];
    if (width_of(value) <= widest) {
      kept_mask |= 1U << bit;
      kept_[num_kept++] = static_cast<int16_t>(value);
    } else {
      write_escape(block, DctTables::place(tile) + bit / 4 * 8 + bit % 4,
                   value >= 0 ? value + 1 : value);
    }
  }
  return static_cast<uint8_t>(kept_mask);
}

void DctRowWriter::write_escape(size_t block, size_t place, int coefficient) {
  const auto put = [&](uint32_t bits) {
    for (int shift = 0; shift < 24; shift += 8) {
      escapes_.push_back(static_cast<uint8_t>(bits >> shift));
    }
  };
  size_t step = block - escape_block_;
  for (; step >= 63; step -= 63) put(63);
  escape_block_ = block;
  put(static_cast<uint32_t>(step | place << 6 |
                            (static_cast<uint32_t>(coefficient) & 0xFFF) << 12));
}

}  // namespace ffkit
