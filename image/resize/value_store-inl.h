// From 8-bit values, held as 32-bit integers, to the elements of an output: normalised, converted,
// stored. Included once for every instruction set, behind <hwy/highway.h>.
#if defined(FFKIT_FORMAT_VALUE_STORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FFKIT_FORMAT_VALUE_STORE_INL_H_
#undef FFKIT_FORMAT_VALUE_STORE_INL_H_
#else
#define FFKIT_FORMAT_VALUE_STORE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<int32_t, 16>;
using WordBytes = hn::Rebind<uint8_t, Words>;
using Floats = hn::Rebind<float, Words>;

HWY_INLINE hn::Vec<Words> load_words(const uint8_t* bytes) {
  return hn::PromoteTo(Words(), hn::LoadU(WordBytes(), bytes));
}

struct StoreU8 {
  using Element = uint8_t;
  static constexpr bool kIsScaled = false;  // scale and bias are null
  HWY_INLINE void operator()(hn::Vec<Words> result, const float*, const float*,
                             uint8_t* out) const {
    hn::StoreU(hn::DemoteTo(WordBytes(), result), WordBytes(), out);
  }
};

HWY_INLINE hn::Vec<Floats> normalize(hn::Vec<Words> result, const float* scale, const float* bias) {
  // Pillow's clip8; weights may be negative, and add up to a hair more than 1.
  const auto clipped = hn::Clamp(result, hn::Zero(Words()), hn::Set(Words(), 255));
  const Floats d;
  return hn::Add(hn::Mul(hn::ConvertTo(d, clipped), hn::LoadU(d, scale)), hn::LoadU(d, bias));
}

struct StoreF32 {
  using Element = float;
  static constexpr bool kIsScaled = true;
  HWY_INLINE void operator()(hn::Vec<Words> result, const float* scale, const float* bias,
                             float* out) const {
    hn::StoreU(normalize(result, scale, bias), Floats(), out);
  }
};

// Rounds to a multiple of 2^kDropped units of the last place, ties to even.
template <int kDropped>
HWY_INLINE hn::VFromD<hn::Rebind<uint32_t, Words>> round_bits(hn::Vec<Floats> value) {
  const hn::Rebind<uint32_t, Words> d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<kDropped>(bits), hn::Set(d, 1));
  return hn::Add(bits, hn::Add(odd, hn::Set(d, (1U << (kDropped - 1)) - 1)));
}

HWY_INLINE void store_f16(hn::Vec<Floats> value, uint16_t* out) {
  const hn::Rebind<hwy::float16_t, Words> d;
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  // Highway's DemoteTo cuts off here instead of rounding.
  const hn::Rebind<uint32_t, Words> bits;
  value = hn::BitCast(Floats(), hn::And(round_bits<13>(value), hn::Set(bits, ~0x1FFFU)));
#endif
  hn::StoreU(hn::DemoteTo(d, value), d, reinterpret_cast<hwy::float16_t*>(out));
}

HWY_INLINE void store_bf16(hn::Vec<Floats> value, uint16_t* out) {
  const hn::Rebind<uint16_t, Words> d;
  hn::StoreU(hn::DemoteTo(d, hn::BitCast(Words(), hn::ShiftRight<16>(round_bits<16>(value)))), d,
             out);
}

struct StoreF16 {
  using Element = uint16_t;
  static constexpr bool kIsScaled = true;
  HWY_INLINE void operator()(hn::Vec<Words> result, const float* scale, const float* bias,
                             uint16_t* out) const {
    store_f16(normalize(result, scale, bias), out);
  }
};

struct StoreBf16 {
  using Element = uint16_t;
  static constexpr bool kIsScaled = true;
  HWY_INLINE void operator()(hn::Vec<Words> result, const float* scale, const float* bias,
                             uint16_t* out) const {
    store_bf16(normalize(result, scale, bias), out);
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#endif  // include guard that is toggled
