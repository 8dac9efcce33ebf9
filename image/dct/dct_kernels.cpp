#include "dct/dct_kernels.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dct/dct_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes16 = hn::FixedTag<uint8_t, 16>;
using Words8 = hn::FixedTag<int16_t, 8>;
using Words4 = hn::FixedTag<int16_t, 4>;
using Longs2 = hn::FixedTag<uint64_t, 2>;

bool UnpackTiles(DctTiles& tiles, const uint8_t* flags, const uint8_t* widths, size_t num_blocks,
                 int16_t* blocks) {
  const Bytes16 bytes;
  const Words8 words;
  const Words4 half;
  // A quarter of where each tile begins in `blocks`: one loop over the tiles of all blocks is
  // guessed wrong by the processor less often than one a block.
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

// Gathers one tile, whose two rows of four are given: sets its mask, and appends its values.
template <class V>
HWY_INLINE int16_t* gather_tile(V coefficients, uint8_t& mask, int16_t* values) {
  const Bytes16 bytes;
  const Words8 words;
  const auto zero = hn::Zero(words);
  uint8_t unset[8] = {};
  hn::StoreMaskBits(words, hn::Eq(coefficients, zero), unset);
  mask = static_cast<uint8_t>(~unset[0]);
  // Subtracts one from what is positive.
  const auto value = hn::Add(coefficients, hn::VecFromMask(words, hn::Gt(coefficients, zero)));
  const auto gathered = hn::TableLookupBytesOr0(hn::BitCast(bytes, value),
                                                hn::Load(bytes, kDctTables.compress[mask].data()));
  hn::StoreU(hn::BitCast(words, gathered), words, values);
  return values + kDctTables.num_bits[mask];
}

// 2 |c| - 1 for a coefficient c, and 0 for 0: its bits are as many as its value takes in two's
// complement, and those of several are as many as all take.
template <class V>
HWY_INLINE hn::VFromD<Longs2> bits_of(V coefficients) {
  const hn::FixedTag<uint16_t, 8> unsigned_words;
  const auto magnitude = hn::BitCast(unsigned_words, hn::Abs(coefficients));
  return hn::BitCast(Longs2(), hn::SaturatedSub(hn::Add(magnitude, magnitude),
                                                hn::Set(unsigned_words, uint16_t{1})));
}

// Tiles 2 * kPair and 2 * kPair + 1 of a block. ORs the bits that the values of the first have into
// word kPair of `bits`, those of the second into word 4 + kPair.
template <int kPair>
HWY_INLINE int16_t* gather_pair(const int16_t* block, uint8_t* masks, hn::VFromD<Longs2>& bits,
                                int16_t* values) {
  const Words8 words;
  const Longs2 longs;
  const auto even = hn::LoadU(words, block + 16 * kPair);
  const auto odd = hn::LoadU(words, block + 16 * kPair + 8);
  values = gather_tile(hn::ConcatLowerLower(words, odd, even), masks[2 * kPair], values);
  values = gather_tile(hn::ConcatUpperUpper(words, odd, even), masks[2 * kPair + 1], values);
  auto all = hn::Or(bits_of(even), bits_of(odd));
  all = hn::Or(all, hn::ShiftRight<32>(all));
  all = hn::And(hn::Or(all, hn::ShiftRight<16>(all)), hn::Set(longs, uint64_t{0xFFFF}));
  bits = hn::Or(bits, hn::ShiftLeft<16 * kPair>(all));
  return values;
}

// Of the 8 words that gather_pair() leaves: how many bits each takes, in the order of tiles.
HWY_INLINE void store_widths(hn::VFromD<Longs2> bits, uint8_t* widths) {
  const hn::FixedTag<int32_t, 4> ints;
  const hn::FixedTag<uint16_t, 4> half;
  const hn::FixedTag<uint16_t, 8> words;
  const auto numbers = hn::BitCast(words, bits);
  // A float's exponent is 126 more; that of 0 is 0.
  const auto exponents = [&](auto four) {
    const auto number = hn::ConvertTo(hn::FixedTag<float, 4>(), hn::PromoteTo(ints, four));
    return hn::ShiftRight<23>(hn::BitCast(ints, number));
  };
  const auto even = exponents(hn::LowerHalf(half, numbers));
  const auto odd = exponents(hn::UpperHalf(half, numbers));
  const auto in_order = hn::BitCast(words, hn::Or(even, hn::ShiftLeft<16>(odd)));
  const auto result = hn::SaturatedSub(in_order, hn::Set(words, uint16_t{126}));
  const hn::FixedTag<uint8_t, 8> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(Words8(), result)), bytes, widths);
}

int16_t* GatherTiles(const int16_t* blocks, size_t num_blocks, DctBlockTiles* tiles,
                     int16_t* values) {
  for (size_t i = 0; i < num_blocks; ++i) {
    const int16_t* const block = blocks + 64 * i;
    uint8_t* const masks = tiles[i].masks;
    auto bits = hn::Zero(Longs2());
    values = gather_pair<0>(block, masks, bits, values);
    values = gather_pair<1>(block, masks, bits, values);
    values = gather_pair<2>(block, masks, bits, values);
    values = gather_pair<3>(block, masks, bits, values);
    store_widths(bits, tiles[i].widths);
  }
  return values;
}

const int16_t* MatchTiles(const int16_t* blocks, size_t num_blocks, const DctBlockTiles* tiles,
                          const int16_t* values) {
  const Bytes16 bytes;
  const Words8 words;
  const auto minus_one = hn::Set(words, int16_t{-1});
  // The coefficients of the next tile, in two rows of four.
  const auto next = [&](size_t mask) {
    const auto value = hn::LoadU(words, values);
    values += kDctTables.num_bits[mask];
    const auto coefficients = hn::Sub(value, hn::VecFromMask(words, hn::Gt(value, minus_one)));
    return hn::BitCast(words,
                       hn::TableLookupBytesOr0(hn::BitCast(bytes, coefficients),
                                               hn::Load(bytes, kDctTables.expand[mask].data())));
  };
  auto different = hn::Zero(words);
  for (size_t i = 0; i < num_blocks; ++i) {
    for (size_t row = 0; row < 4; ++row) {
      const int16_t* const rows = blocks + 64 * i + 16 * row;
      const auto left = next(tiles[i].masks[2 * row]);
      const auto right = next(tiles[i].masks[2 * row + 1]);
      const auto even = hn::Xor(hn::LoadU(words, rows), hn::ConcatLowerLower(words, right, left));
      const auto odd =
          hn::Xor(hn::LoadU(words, rows + 8), hn::ConcatUpperUpper(words, right, left));
      different = hn::Or(different, hn::Or(even, odd));
    }
  }
  return hn::AllTrue(words, hn::Eq(different, hn::Zero(words))) ? values : nullptr;
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
HWY_EXPORT(MatchTiles);
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

const int16_t* match_dct_tiles(const int16_t* blocks, size_t num_blocks, const DctBlockTiles* tiles,
                               const int16_t* values) {
  return HWY_DYNAMIC_DISPATCH(MatchTiles)(blocks, num_blocks, tiles, values);
}

}  // namespace ffkit
#endif  // HWY_ONCE
