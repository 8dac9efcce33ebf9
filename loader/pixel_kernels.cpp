#include "pixel_kernels.h"

#include <cstring>

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixel_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "value_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

using Bytes = hn::FixedTag<uint8_t, 16>;

constexpr size_t kBlock = 16;  // pixels worked on at once

struct Planes {
  HWY_ALIGN uint8_t channel[3][kBlock];
};

HWY_INLINE void load_planes(const uint8_t* rgb, Planes& planes) {
  const Bytes d;
  hn::Vec<Bytes> red;
  hn::Vec<Bytes> green;
  hn::Vec<Bytes> blue;
  hn::LoadInterleaved3(d, rgb, red, green, blue);
  hn::Store(red, d, planes.channel[0]);
  hn::Store(green, d, planes.channel[1]);
  hn::Store(blue, d, planes.channel[2]);
}

HWY_INLINE void store_planes(const Planes& planes, uint8_t* rgb) {
  const Bytes d;
  hn::StoreInterleaved3(hn::Load(d, planes.channel[0]), hn::Load(d, planes.channel[1]),
                        hn::Load(d, planes.channel[2]), d, rgb);
}

// Calls change(planes) for all pixels; the last block is filled up with black.
template <typename Change>
HWY_INLINE void change_pixels(uint8_t* rgb, size_t num_pixels, const Change& change) {
  Planes planes;
  for (; num_pixels >= kBlock; num_pixels -= kBlock) {
    load_planes(rgb, planes);
    change(planes);
    store_planes(planes, rgb);
    rgb += 3 * kBlock;
  }
  if (num_pixels == 0) return;
  uint8_t rest[3 * kBlock] = {};
  std::memcpy(rest, rgb, 3 * num_pixels);
  load_planes(rest, planes);
  change(planes);
  store_planes(planes, rest);
  std::memcpy(rgb, rest, 3 * num_pixels);
}

// Of the pixels from `lane` on.
HWY_INLINE hn::Vec<Words> luma(const Planes& planes, size_t lane) {
  const Words d;
  const auto red = hn::Mul(load_words(planes.channel[0] + lane), hn::Set(d, 19595));
  const auto green = hn::Mul(load_words(planes.channel[1] + lane), hn::Set(d, 38470));
  const auto blue = hn::Mul(load_words(planes.channel[2] + lane), hn::Set(d, 7471));
  const auto sum = hn::Add(hn::Add(red, green), hn::Add(blue, hn::Set(d, 0x8000)));
  return hn::ShiftRight<16>(sum);
}

// degenerate + factor * (value - degenerate), cut off to 0 .. 255.
HWY_INLINE void store_blend(hn::Vec<Words> degenerate, hn::Vec<Words> value, hn::Vec<Floats> factor,
                            uint8_t* out) {
  const Floats d;
  const auto difference = hn::ConvertTo(d, hn::Sub(value, degenerate));
  const auto blend = hn::Add(hn::ConvertTo(d, degenerate), hn::Mul(factor, difference));
  hn::StoreU(hn::DemoteTo(WordBytes(), hn::ConvertTo(Words(), blend)), WordBytes(), out);
}

uint64_t SumLuma(const uint8_t* rgb, size_t num_pixels) {
  // A lane holds the sum of 2^22 pixels at least before it overflows.
  constexpr size_t kPart = size_t{1} << 22;
  const Words d;
  Planes planes;
  uint64_t total = 0;
  while (num_pixels > 0) {
    const size_t part = HWY_MIN(num_pixels, kPart);
    auto sum = hn::Zero(d);
    size_t done = 0;
    for (; done + kBlock <= part; done += kBlock) {
      load_planes(rgb + 3 * done, planes);
      for (size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
        sum = hn::Add(sum, luma(planes, lane));
      }
    }
    uint8_t rest[3 * kBlock] = {};  // black has no luma
    std::memcpy(rest, rgb + 3 * done, 3 * (part - done));
    load_planes(rest, planes);
    for (size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
      sum = hn::Add(sum, luma(planes, lane));
    }
    HWY_ALIGN int32_t lanes[kBlock];
    hn::Store(sum, d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) total += static_cast<uint32_t>(lanes[i]);
    rgb += 3 * part;
    num_pixels -= part;
  }
  return total;
}

void BlendWithLuma(uint8_t* rgb, size_t num_pixels, float factor) {
  const auto factors = hn::Set(Floats(), factor);
  change_pixels(rgb, num_pixels, [&](Planes& planes) HWY_ATTR {
    for (size_t lane = 0; lane < kBlock; lane += hn::Lanes(Words())) {
      const auto grey = luma(planes, lane);
      for (auto& channel : planes.channel) {
        store_blend(grey, load_words(channel + lane), factors, channel + lane);
      }
    }
  });
}

void BlendWithSmooth(const SmoothJob& job) {
  const Words d;
  const auto factors = hn::Set(Floats(), job.factor);
  for (size_t i = 0; i < job.num_values; i += hn::Lanes(d)) {
    const auto center = load_words(job.row + i);
    auto sum = hn::ShiftLeft<2>(center);
    for (const uint8_t* row : {job.above + i, job.row + i, job.below + i}) {
      sum =
          hn::Add(sum, hn::Add(load_words(row - 3), hn::Add(load_words(row), load_words(row + 3))));
    }
    // Pillow rounds sum / 13 to the nearest: (sum + 6) / 13, whose quotient is exact with this factor up to 3321.
    const auto smooth = hn::ShiftRight<16>(hn::Mul(hn::Add(sum, hn::Set(d, 6)), hn::Set(d, 5042)));
    store_blend(smooth, center, factors, job.out + i);
  }
}

using Doubles = hn::CappedTag<double, 8>;
using DoubleFloats = hn::Rebind<float, Doubles>;
using DoubleInts = hn::Rebind<int32_t, Doubles>;
using DoubleBytes = hn::Rebind<uint8_t, Doubles>;

HWY_INLINE hn::Vec<Doubles> load_doubles(const uint8_t* bytes) {
  const auto ints = hn::PromoteTo(DoubleInts(), hn::LoadU(DoubleBytes(), bytes));
  return hn::PromoteTo(Doubles(), ints);
}

HWY_INLINE void store_doubles(hn::Vec<Doubles> values, uint8_t* bytes) {
  const auto ints = hn::DemoteTo(DoubleInts(), values);
  hn::StoreU(hn::DemoteTo(DoubleBytes(), ints), DoubleBytes(), bytes);
}

// What is left of a value that Pillow keeps as a float. Quotients and products of floats come out as if computed as floats.
HWY_INLINE hn::Vec<Doubles> as_float(hn::Vec<Doubles> value) {
  return hn::PromoteTo(Doubles(), hn::DemoteTo(DoubleFloats(), value));
}

HWY_INLINE hn::Vec<Doubles> quotient(hn::Vec<Doubles> a, hn::Vec<Doubles> b) {
  return as_float(hn::Div(a, b));
}

// C's round() of what is not negative.
HWY_INLINE hn::Vec<Doubles> rounded(hn::Vec<Doubles> value) {
  return hn::Floor(hn::Add(value, hn::Set(Doubles(), 0.5)));
}

HWY_INLINE void shift_hue_of(uint8_t* reds, uint8_t* greens, uint8_t* blues, double shift) {
  const Doubles d;
  const auto one = hn::Set(d, 1.0);
  const auto scale = hn::Set(d, 255.0);
  const auto six = hn::Set(d, 6.0);
  const auto red = load_doubles(reds);
  const auto green = load_doubles(greens);
  const auto blue = load_doubles(blues);
  const auto value = hn::Max(red, hn::Max(green, blue));
  const auto range = hn::Sub(value, hn::Min(red, hn::Min(green, blue)));
  // A grey pixel has neither hue nor saturation; any divisor will do.
  const auto divisor = hn::Max(range, one);
  const auto from_red = quotient(hn::Sub(value, red), divisor);
  const auto from_green = quotient(hn::Sub(value, green), divisor);
  const auto from_blue = quotient(hn::Sub(value, blue), divisor);
  const auto is_red = hn::Eq(red, value);
  const auto is_green = hn::Eq(green, value);
  const auto green_turn = hn::Sub(hn::Add(hn::Set(d, 2.0), from_red), from_blue);
  const auto blue_turn = hn::Sub(hn::Add(hn::Set(d, 4.0), from_green), from_red);
  const auto turn = as_float(hn::IfThenElse(is_red, hn::Sub(from_blue, from_green),
                                            hn::IfThenElse(is_green, green_turn, blue_turn)));
  auto hue = hn::Add(hn::Div(turn, six), one);
  hue = as_float(hn::IfThenElse(hn::Ge(hue, one), hn::Sub(hue, one), hue));
  hue = hn::Add(hn::Floor(hn::Mul(hue, scale)), hn::Set(d, shift));
  hue = hn::IfThenElse(hn::Gt(hue, scale), hn::Sub(hue, hn::Set(d, 256.0)), hue);
  const auto saturation = hn::Floor(hn::Mul(quotient(range, hn::Max(value, one)), scale));

  const auto angle = hn::Div(hn::Mul(hue, six), scale);
  const auto sector = hn::Floor(angle);  // 0 .. 6
  const auto part = as_float(hn::Sub(angle, sector));
  const auto s = quotient(saturation, scale);
  const auto p = rounded(hn::Mul(value, hn::Sub(one, s)));
  const auto q = rounded(hn::Mul(value, hn::Sub(one, as_float(hn::Mul(s, part)))));
  const auto t = rounded(hn::Mul(value, hn::Sub(one, hn::Mul(s, hn::Sub(one, part)))));
  const auto is = [&](double k) HWY_ATTR { return hn::Eq(sector, hn::Set(d, k)); };
  const auto is1 = is(1);
  const auto is2 = is(2);
  const auto is3 = is(3);
  const auto is4 = is(4);
  const auto is5 = is(5);
  const auto select = [&](auto v0, auto v1, auto v2, auto v3, auto v4, auto v5) HWY_ATTR {
    auto v = hn::IfThenElse(is1, v1, v0);
    v = hn::IfThenElse(is2, v2, v);
    v = hn::IfThenElse(is3, v3, v);
    v = hn::IfThenElse(is4, v4, v);
    v = hn::IfThenElse(is5, v5, v);
    return hn::IfThenElse(hn::Eq(saturation, hn::Zero(d)), value, v);
  };
  store_doubles(select(value, q, p, p, t, value), reds);
  store_doubles(select(t, value, value, q, p, p), greens);
  store_doubles(select(p, p, t, value, value, q), blues);
}

void ShiftHue(uint8_t* rgb, size_t num_pixels, uint8_t shift) {
  change_pixels(rgb, num_pixels, [&](Planes& planes) HWY_ATTR {
    for (size_t lane = 0; lane < kBlock; lane += hn::Lanes(Doubles())) {
      shift_hue_of(planes.channel[0] + lane, planes.channel[1] + lane, planes.channel[2] + lane,
                   shift);
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {
namespace {
HWY_EXPORT(SumLuma);
HWY_EXPORT(BlendWithLuma);
HWY_EXPORT(BlendWithSmooth);
HWY_EXPORT(ShiftHue);
}  // namespace

uint64_t sum_luma(const uint8_t* rgb, size_t num_pixels) {
  return HWY_DYNAMIC_DISPATCH(SumLuma)(rgb, num_pixels);
}
void blend_with_luma(uint8_t* rgb, size_t num_pixels, float factor) {
  HWY_DYNAMIC_DISPATCH(BlendWithLuma)(rgb, num_pixels, factor);
}
void blend_with_smooth(const SmoothJob& job) {
  HWY_DYNAMIC_DISPATCH(BlendWithSmooth)(job);
}
void shift_hue(uint8_t* rgb, size_t num_pixels, uint8_t shift) {
  HWY_DYNAMIC_DISPATCH(ShiftHue)(rgb, num_pixels, shift);
}

}  // namespace ffkit
#endif  // HWY_ONCE
