#include "dct/dct_kernels.h"

#include <bit>
#include <cstring>

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dct/dct_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "dct/dct_tables.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes16 = hn::FixedTag<uint8_t, 16>;
using Words8 = hn::FixedTag<int16_t, 8>;
using Words4 = hn::FixedTag<int16_t, 4>;

bool UnpackTiles(DctTiles& tiles, const uint8_t* flags, const uint8_t* widths, size_t num_blocks,
                 int16_t* blocks) {
  const Bytes16 bytes;
  const Words8 words;
  const Words4 half;
  // A quarter of where each tile begins in `blocks`: one loop over the tiles of all blocks is guessed wrong by the processor less often than one a block.
  constexpr size_t kMaxBlocks = 10;
  uint8_t quarters[8 * kMaxBlocks + 8];
  size_t count = 0;
  for (size_t block = 0; block < num_blocks; ++block) {
    const uint64_t set = kDctTables.quarters[flags[block]] + 0x1010101010101010 * block;
    std::memcpy(quarters + count, &set, sizeof(set));
    count += kDctTables.num_bits[flags[block]];
  }
  const auto minus_one = hn::Set(words, int16_t{-1});
  size_t bit = tiles.bit;
  for (size_t i = 0; i < count; ++i) {
    const size_t place = size_t{4} * quarters[i];
    const size_t tile = tiles.tile + i;
    const size_t mask = tiles.masks[tile];
    const size_t kind = tiles.classes[tile / 4] >> (2 * (tile % 4)) & 3;
    const size_t width = widths[place + kind];
    const size_t entry = 8 * width + bit % 8;
    const auto raw = hn::LoadU(bytes, tiles.values + bit / 8);
    const auto pairs = hn::TableLookupBytes(raw, hn::Load(bytes, kDctTables.shuffle[entry].data()));
    const auto tops =
        hn::Mul(hn::BitCast(words, pairs), hn::Load(words, kDctTables.factor[entry].data()));
    const auto values = hn::MulHigh(tops, hn::Load(words, kDctTables.power[width].data()));
    const auto coefficients = hn::Sub(values, hn::VecFromMask(words, hn::Gt(values, minus_one)));
    const auto placed = hn::BitCast(
        words, hn::TableLookupBytesOr0(hn::BitCast(bytes, coefficients),
                                       hn::Load(bytes, kDctTables.expand[mask].data())));
    hn::StoreU(hn::LowerHalf(half, placed), half, blocks + place);
    hn::StoreU(hn::UpperHalf(half, placed), half, blocks + place + 8);
    bit += kDctTables.num_bits[mask] * width;
    if (bit > tiles.num_bits) return false;
  }
  tiles.tile += count;
  tiles.bit = bit;
  return true;
}

size_t CountBits(const uint8_t* in, size_t num_bytes) {
  size_t count = 0;
  size_t i = 0;
  for (; i + 8 <= num_bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, in + i, sizeof(word));
    count += static_cast<size_t>(__builtin_popcountll(word));
  }
  for (; i < num_bytes; ++i) count += kDctTables.num_bits[in[i]];
  return count;
}

// Gathers one tile, whose two rows of four are given.
template <class V>
HWY_INLINE int16_t* gather_tile(V coefficients, size_t tile, DctBlockTiles& out, int16_t* values) {
  const Bytes16 bytes;
  const Words8 words;
  const hn::FixedTag<uint64_t, 2> longs;
  const auto zero = hn::Zero(words);
  uint8_t unset[8] = {};
  hn::StoreMaskBits(words, hn::Eq(coefficients, zero), unset);
  const size_t mask = 0xFF & ~size_t{unset[0]};
  // Subtracts one from what is positive.
  const auto value = hn::Add(coefficients, hn::VecFromMask(words, hn::Gt(coefficients, zero)));
  const auto gathered = hn::TableLookupBytesOr0(hn::BitCast(bytes, value),
                                                hn::Load(bytes, kDctTables.compress[mask].data()));
  hn::StoreU(hn::BitCast(words, gathered), words, values);
  // The same bits as the largest has: where a number is negative, those that are not its sign.
  const auto magnitude = hn::BitCast(longs, hn::Xor(value, hn::ShiftRight<15>(value)));
  uint64_t all =
      hn::GetLane(magnitude) | hn::GetLane(hn::UpperHalf(hn::Half<decltype(longs)>(), magnitude));
  all |= all >> 32;
  all |= all >> 16;
  out.masks[tile] = static_cast<uint8_t>(mask);
  out.widths[tile] = static_cast<uint8_t>((mask != 0 ? 1 : 0) + std::bit_width(all & 0xFFFF));
  return values + kDctTables.num_bits[mask];
}

int16_t* GatherTiles(const int16_t* blocks, size_t num_blocks, DctBlockTiles* tiles,
                     int16_t* values) {
  const Words8 words;
  for (size_t block = 0; block < num_blocks; ++block) {
    for (size_t row = 0; row < 4; ++row) {
      const auto even = hn::LoadU(words, blocks + 64 * block + 16 * row);
      const auto odd = hn::LoadU(words, blocks + 64 * block + 16 * row + 8);
      values = gather_tile(hn::ConcatLowerLower(words, odd, even), 2 * row, tiles[block], values);
      values =
          gather_tile(hn::ConcatUpperUpper(words, odd, even), 2 * row + 1, tiles[block], values);
    }
  }
  return values;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {
namespace {
HWY_EXPORT(UnpackTiles);
HWY_EXPORT(CountBits);
HWY_EXPORT(GatherTiles);
}  // namespace

UnpackDctTiles unpack_dct_tiles() {
  // The first dispatch of a process finds out the processor; before it there is no pointer to take.
  HWY_DYNAMIC_DISPATCH(CountBits)(nullptr, 0);
  return &HWY_DYNAMIC_DISPATCH(UnpackTiles);
}

size_t count_dct_bits(const uint8_t* bytes, size_t num_bytes) {
  return HWY_DYNAMIC_DISPATCH(CountBits)(bytes, num_bytes);
}

int16_t* gather_dct_tiles(const int16_t* blocks, size_t num_blocks, DctBlockTiles* tiles,
                          int16_t* values) {
  return HWY_DYNAMIC_DISPATCH(GatherTiles)(blocks, num_blocks, tiles, values);
}

}  // namespace ffkit
#endif  // HWY_ONCE
