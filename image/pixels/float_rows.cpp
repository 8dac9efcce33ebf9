#include <hwy/cache_control.h>

#include <cstring>

#include "pixels/pixel_kernels.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/float_rows.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "resize/resize_kernels.h"
#include "resize/value_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

// 16 pixels of a register of bytes.
constexpr size_t kSplitPixels = 16;
using SplitBytes = hn::FixedTag<uint8_t, kSplitPixels>;

void SplitRow(const uint8_t* rgb, size_t width, float* rows, size_t stride) {
  const SplitBytes bytes;
  const Floats d;
  HWY_ALIGN uint8_t channels[3][kSplitPixels];
  for (size_t x = 0; x < width; x += kSplitPixels) {
    hn::Vec<SplitBytes> red;
    hn::Vec<SplitBytes> green;
    hn::Vec<SplitBytes> blue;
    // The next row, whose bytes the decoder wrote long ago.
    hwy::Prefetch(rgb + 3 * (x + width));
    hn::LoadInterleaved3(bytes, rgb + 3 * x, red, green, blue);
    hn::Store(red, bytes, channels[0]);
    hn::Store(green, bytes, channels[1]);
    hn::Store(blue, bytes, channels[2]);
    for (size_t c = 0; c < 3; ++c) {
      for (size_t lane = 0; lane < kSplitPixels; lane += hn::Lanes(d)) {
        hn::StoreU(hn::ConvertTo(d, load_words(channels[c] + lane)), d,
                   rows + c * stride + x + lane);
      }
    }
  }
}

void BlendRows(const float* a, const float* b, float weight, size_t count, float* out) {
  const Floats d;
  const auto of_a = hn::Set(d, 1 - weight);
  const auto of_b = hn::Set(d, weight);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto blend =
        hn::Add(hn::Mul(hn::LoadU(d, a + i), of_a), hn::Mul(hn::LoadU(d, b + i), of_b));
    hn::StoreU(blend, d, out + i);
  }
}

void ResampleHalf(const float* row, size_t count, float* out) {
  const Floats d;
  const auto half = hn::Set(d, 0.5F);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Vec<Floats> even;
    hn::Vec<Floats> odd;
    hn::LoadInterleaved2(d, row + 2 * i, even, odd);
    hn::StoreU(hn::Mul(hn::Add(even, odd), half), d, out + i);
  }
}

void ResampleRow(const float* row, const int32_t* index, const float* weight, size_t count,
                 float* out) {
  const Floats d;
  const hn::RebindToSigned<Floats> places;
  const auto one = hn::Set(d, 1);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto place = hn::LoadU(places, index + i);
    const auto of_next = hn::LoadU(d, weight + i);
    const auto first = hn::Mul(hn::GatherIndex(d, row, place), hn::Sub(one, of_next));
    const auto next = hn::Mul(hn::GatherIndex(d, row + 1, place), of_next);
    hn::StoreU(hn::Add(first, next), d, out + i);
  }
}

void InterleaveRows(const float* rows, size_t width, size_t stride, float* out) {
  const Floats d;
  for (size_t x = 0; x < width; x += hn::Lanes(d)) {
    hn::StoreInterleaved3(hn::LoadU(d, rows + x), hn::LoadU(d, rows + stride + x),
                          hn::LoadU(d, rows + 2 * stride + x), d, out + 3 * x);
  }
}

struct KeepF32 {
  using Element = float;
  HWY_INLINE void operator()(hn::Vec<Floats> value, float* out) const {
    hn::StoreU(value, Floats(), out);
  }
};

struct RoundToF16 {
  using Element = uint16_t;
  HWY_INLINE void operator()(hn::Vec<Floats> value, uint16_t* out) const { store_f16(value, out); }
};

struct RoundToBf16 {
  using Element = uint16_t;
  HWY_INLINE void operator()(hn::Vec<Floats> value, uint16_t* out) const { store_bf16(value, out); }
};

template <typename Round>
void write_as(const float* values, const float* scale, const float* bias, size_t count,
              void* elements) {
  const Floats d;
  auto* out = static_cast<typename Round::Element*>(elements);
  const auto value = [&](size_t i) HWY_ATTR {
    return hn::Add(hn::Mul(hn::LoadU(d, values + i), hn::LoadU(d, scale + i)),
                   hn::LoadU(d, bias + i));
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) Round()(value(i), out + i);
  if (i == count) return;
  typename Round::Element rest[kMaxLanes];
  Round()(value(i), rest);
  std::memcpy(out + i, rest, (count - i) * sizeof(*out));
}

void StoreRow(const float* values, const float* scale, const float* bias, size_t count, DType dtype,
              void* out) {
  switch (dtype) {
    case DType::f16:
      return write_as<RoundToF16>(values, scale, bias, count, out);
    case DType::bf16:
      return write_as<RoundToBf16>(values, scale, bias, count, out);
    default:
      return write_as<KeepF32>(values, scale, bias, count, out);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {
namespace {
HWY_EXPORT(SplitRow);
HWY_EXPORT(BlendRows);
HWY_EXPORT(ResampleHalf);
HWY_EXPORT(ResampleRow);
HWY_EXPORT(InterleaveRows);
HWY_EXPORT(StoreRow);
}  // namespace

size_t float_row_stride(int width) {
  // The loop that halves a row reads up to 30 values behind it.
  constexpr size_t kBehind = 2 * kMaxLanes;
  return (static_cast<size_t>(width) + kMaxLanes - 1) / kMaxLanes * kMaxLanes + kBehind;
}

void split_row(const uint8_t* rgb, int width, float* rows) {
  HWY_DYNAMIC_DISPATCH(SplitRow)
  (rgb, static_cast<size_t>(width), rows, float_row_stride(width));
}

void blend_rows(const float* a, const float* b, float weight, size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendRows)(a, b, weight, count, out);
}

void resample_row(const float* row, const LinearAxis& axis, float* out) {
  const auto count = static_cast<size_t>(axis.num_outputs());
  if (axis.is_half()) {
    HWY_DYNAMIC_DISPATCH(ResampleHalf)(row, count, out);
  } else {
    HWY_DYNAMIC_DISPATCH(ResampleRow)(row, axis.index(), axis.weight(), count, out);
  }
}

void interleave_rows(const float* rows, int width, float* out) {
  HWY_DYNAMIC_DISPATCH(InterleaveRows)
  (rows, static_cast<size_t>(width), float_row_stride(width), out);
}

void store_row(const float* values, const float* scale, const float* bias, size_t count,
               DType dtype, void* out) {
  HWY_DYNAMIC_DISPATCH(StoreRow)(values, scale, bias, count, dtype, out);
}

}  // namespace ffkit
#endif  // HWY_ONCE
