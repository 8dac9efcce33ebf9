#include <cstdint>
#include <cstring>

#include "batch/batch_mixer.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batch/mix_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "image/resize/value_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

struct F32 {
  using Element = float;
  static HWY_INLINE hn::Vec<Floats> load(const float* in) { return hn::LoadU(Floats(), in); }
  static HWY_INLINE void store(hn::Vec<Floats> v, float* out) { hn::StoreU(v, Floats(), out); }
};

struct F16 {
  using Element = uint16_t;
  static HWY_INLINE hn::Vec<Floats> load(const uint16_t* in) {
    const hn::Rebind<hwy::float16_t, Words> d;
    return hn::PromoteTo(Floats(), hn::LoadU(d, reinterpret_cast<const hwy::float16_t*>(in)));
  }
  static HWY_INLINE void store(hn::Vec<Floats> v, uint16_t* out) { store_f16(v, out); }
};

struct Bf16 {
  using Element = uint16_t;
  static HWY_INLINE hn::Vec<Floats> load(const uint16_t* in) {
    const hn::Rebind<uint16_t, Words> d;
    const hn::Rebind<uint32_t, Words> wide;
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(d, in))));
  }
  static HWY_INLINE void store(hn::Vec<Floats> v, uint16_t* out) { store_bf16(v, out); }
};

struct U8 {
  using Element = uint8_t;
  static HWY_INLINE hn::Vec<Floats> load(const uint8_t* in) {
    return hn::ConvertTo(Floats(), load_words(in));
  }
  static HWY_INLINE void store(hn::Vec<Floats> v, uint8_t* out) {
    hn::StoreU(hn::DemoteTo(WordBytes(), hn::NearestInt(v)), WordBytes(), out);
  }
};

template <typename Type>
HWY_INLINE void mix_lanes(const MixJob& job, const typename Type::Element* others,
                          typename Type::Element* values) {
  const Floats d;
  const auto other = hn::Mul(Type::load(others), hn::Set(d, job.other_weight));
  const auto own = hn::Mul(Type::load(values), hn::Set(d, job.weight));
  Type::store(hn::Add(other, own), values);
}

template <typename Type>
void mix_all(const MixJob& job) {
  using Element = typename Type::Element;
  const size_t lanes = hn::Lanes(Floats());
  const auto* others = static_cast<const Element*>(job.others);
  auto* values = static_cast<Element*>(job.values);
  size_t i = 0;
  for (; i + lanes <= job.num_values; i += lanes) mix_lanes<Type>(job, others + i, values + i);
  const size_t rest_bytes = (job.num_values - i) * sizeof(Element);
  Element rest[16] = {};
  Element rest_others[16] = {};
  std::memcpy(rest, values + i, rest_bytes);
  std::memcpy(rest_others, others + i, rest_bytes);
  mix_lanes<Type>(job, rest_others, rest);
  std::memcpy(values + i, rest, rest_bytes);
}

void MixValues(const MixJob& job) {
  switch (job.dtype) {
    case DType::u8:
      return mix_all<U8>(job);
    case DType::f16:
      return mix_all<F16>(job);
    case DType::bf16:
      return mix_all<Bf16>(job);
    default:
      return mix_all<F32>(job);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {
namespace {
HWY_EXPORT(MixValues);
}  // namespace

void mix_values(const MixJob& job) {
  HWY_DYNAMIC_DISPATCH(MixValues)(job);
}

}  // namespace ffkit
#endif  // HWY_ONCE
