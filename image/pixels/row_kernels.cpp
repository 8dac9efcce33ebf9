#include <hwy/cache_control.h>

#include <cstring>
#include <limits>

#include "pixels/pixel_kernels.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/row_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "resize/resample_passes.h"
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

using Bytes = hn::FixedTag<uint8_t, kMaxLanes>;

// kMaxLanes values, of which `count` are stored.
template <typename Store>
HWY_INLINE void write_values(const uint8_t* values, const float* scale, const float* bias,
                             size_t count, typename Store::Element* out) {
  const size_t lanes = hn::Lanes(Words());
  if (count < kMaxLanes) {
    typename Store::Element all[kMaxLanes];
    for (size_t i = 0; i < kMaxLanes; i += lanes) {
      Store()(load_words(values + i), scale + i, bias + i, all + i);
    }
    std::memcpy(out, all, count * sizeof(*out));
    return;
  }
  for (size_t i = 0; i < kMaxLanes; i += lanes) {
    Store()(load_words(values + i), scale + i, bias + i, out + i);
  }
}

template <typename Store>
void write_row(const WriteJob& job) {
  auto* out = static_cast<typename Store::Element*>(job.out);
  if (job.layout == Layout::nhwc) {
    const size_t num_values = 3 * job.width;
    for (size_t i = 0; i < num_values; i += kMaxLanes) {
      write_values<Store>(job.pixels + i, job.scale + i, job.bias + i, num_values - i, out + i);
    }
    return;
  }
  const Bytes d;
  HWY_ALIGN uint8_t channels[3][kMaxLanes];
  for (size_t x = 0; x < job.width; x += kMaxLanes) {
    hn::Vec<Bytes> red;
    hn::Vec<Bytes> green;
    hn::Vec<Bytes> blue;
    hn::LoadInterleaved3(d, job.pixels + 3 * x, red, green, blue);
    hn::Store(red, d, channels[0]);
    hn::Store(green, d, channels[1]);
    hn::Store(blue, d, channels[2]);
    for (size_t c = 0; c < 3; ++c) {
      const size_t at = c * job.width + x;
      write_values<Store>(channels[c], job.scale + at, job.bias + at, job.width - x,
                          out + c * job.plane_values + x);
    }
  }
}

template <typename Store>
void write_rows(WriteJob job) {
  for (; job.height > 0; --job.height) {
    write_row<Store>(job);
    job.pixels += job.stride;
    job.out = static_cast<uint8_t*>(job.out) + job.out_stride_bytes;
  }
}

void WritePixels(const WriteJob& job) {
  switch (job.dtype) {
    case DType::u8:
      return write_rows<StoreU8>(job);
    case DType::f16:
      return write_rows<StoreF16>(job);
    case DType::bf16:
      return write_rows<StoreBf16>(job);
    default:
      return write_rows<StoreF32>(job);
  }
}

using DistortFloats = hn::CappedTag<float, 16>;
using DistortVec = hn::Vec<DistortFloats>;

// OpenCV's guard against divisions by zero.
constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

// What there is of a colour in HSV: the value, and the largest difference of channels that its
// saturation makes. OpenCV divides by |value|, so that the difference of a negative value is
// negative.
struct Spread {
  DistortFloats d;
  float saturation;

  HWY_INLINE DistortVec operator()(DistortVec value, DistortVec difference) const {
    const auto divisor = hn::Add(hn::Abs(value), hn::Set(d, kEpsilon));
    const auto sign = hn::Mul(hn::Div(value, divisor), hn::Set(d, saturation));
    return hn::Mul(difference, sign);
  }
};

// To HSV and back without another hue: each channel keeps its share of the difference.
struct KeepHue {
  Spread spread;

  HWY_INLINE void operator()(DistortVec& red, DistortVec& green, DistortVec& blue) const {
    const auto value = hn::Max(red, hn::Max(green, blue));
    const auto changed = [&](DistortVec channel) HWY_ATTR {
      return hn::Sub(value, spread(value, hn::Sub(value, channel)));
    };
    red = changed(red);
    green = changed(green);
    blue = changed(blue);
  }
};

// The hue is counted in turns of 60 degrees: 0 red, 2 green, 4 blue.
struct ShiftHue {
  Spread spread;
  float shift;

  HWY_INLINE void operator()(DistortVec& red, DistortVec& green, DistortVec& blue) const {
    const DistortFloats d;
    const auto value = hn::Max(red, hn::Max(green, blue));
    const auto difference = hn::Sub(value, hn::Min(red, hn::Min(green, blue)));
    const auto inverse = hn::Div(hn::Set(d, 1), hn::Add(difference, hn::Set(d, kEpsilon)));
    const auto part = [&](DistortVec a, DistortVec b, float base) HWY_ATTR {
      return hn::Add(hn::Mul(hn::Sub(a, b), inverse), hn::Set(d, base + shift));
    };
    auto hue = hn::IfThenElse(
        hn::Eq(value, red), part(green, blue, 0),
        hn::IfThenElse(hn::Eq(value, green), part(blue, red, 2), part(red, green, 4)));
    const auto circle = hn::Set(d, 6);
    hue = hn::IfThenElse(hn::Lt(hue, hn::Zero(d)), hn::Add(hue, circle), hue);
    hue = hn::IfThenElse(hn::Ge(hue, circle), hn::Sub(hue, circle), hue);
    const auto range = spread(value, difference);
    const auto lowest = hn::Sub(value, range);
    // How far a channel is above the lowest one: 1 within 60 degrees of its own hue, 0 beyond 120.
    const auto from = [&](DistortVec share) HWY_ATTR {
      const auto clamped = hn::Min(hn::Max(share, hn::Zero(d)), hn::Set(d, 1));
      return hn::Add(lowest, hn::Mul(range, clamped));
    };
    const auto distance = [&](float own)
                              HWY_ATTR { return hn::Abs(hn::Sub(hue, hn::Set(d, own))); };
    red = from(hn::Sub(distance(3), hn::Set(d, 1)));
    green = from(hn::Sub(hn::Set(d, 2), distance(2)));
    blue = from(hn::Sub(hn::Set(d, 2), distance(4)));
  }
};

template <typename InHsv>
HWY_INLINE void distort_with(const InHsv& in_hsv, float* rows, size_t stride, size_t count,
                             const RowDistortion& distortion) {
  const DistortFloats d;
  const auto brightness = hn::Set(d, distortion.brightness);
  const auto before = hn::Set(d, distortion.contrast_before);
  const auto after = hn::Set(d, distortion.contrast_after);
  // Where the results go.
  float* to[3] = {};
  for (size_t c = 0; c < 3; ++c) to[distortion.channels[c]] = rows + c * stride;
  for (size_t x = 0; x < count; x += hn::Lanes(d)) {
    const auto load = [&](size_t c) HWY_ATTR {
      return hn::Mul(hn::Add(hn::LoadU(d, rows + c * stride + x), brightness), before);
    };
    auto red = load(0);
    auto green = load(1);
    auto blue = load(2);
    in_hsv(red, green, blue);
    hn::StoreU(hn::Mul(red, after), d, to[0] + x);
    hn::StoreU(hn::Mul(green, after), d, to[1] + x);
    hn::StoreU(hn::Mul(blue, after), d, to[2] + x);
  }
}

void DistortRows(float* rows, size_t stride, size_t count, const RowDistortion& distortion) {
  const Spread spread{DistortFloats(), distortion.saturation};
  if (distortion.hue == 0) {
    distort_with(KeepHue{spread}, rows, stride, count, distortion);
  } else {
    distort_with(ShiftHue{spread, distortion.hue}, rows, stride, count, distortion);
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
HWY_EXPORT(WritePixels);
HWY_EXPORT(DistortRows);
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

void write_pixels(const WriteJob& job) {
  if (job.width == 0 || job.height == 0) return;  // `out` may be null
  HWY_DYNAMIC_DISPATCH(WritePixels)(job);
}

void distort_rows(float* rows, size_t stride, size_t count, const RowDistortion& distortion) {
  HWY_DYNAMIC_DISPATCH(DistortRows)(rows, stride, count, distortion);
}

}  // namespace ffkit
#endif  // HWY_ONCE
