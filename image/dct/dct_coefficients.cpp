#include "dct/dct_coefficients.h"

#include <algorithm>
#include <limits>

#include "dct/dct_tables.h"

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

}  // namespace ffkit
