#include "pixels/pixel_kernels.h"

#include <cstdint>
#include <cstring>

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/pixel_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "resize/value_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

// Blocks of RGB pixels as planes, for loops that compute across channels.

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

void SetLuma(uint8_t* rgb, size_t num_pixels) {
  change_pixels(rgb, num_pixels, [&](Planes& planes) HWY_ATTR {
    for (size_t lane = 0; lane < kBlock; lane += hn::Lanes(Words())) {
      const auto grey = hn::DemoteTo(WordBytes(), luma(planes, lane));
      for (auto& channel : planes.channel) hn::StoreU(grey, WordBytes(), channel + lane);
    }
  });
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

void BlendWithValue(uint8_t* values, size_t num_values, int degenerate, float factor) {
  const size_t lanes = hn::Lanes(Words());
  const auto constant = hn::Set(Words(), degenerate);
  const auto factors = hn::Set(Floats(), factor);
  size_t i = 0;
  for (; i + lanes <= num_values; i += lanes) {
    store_blend(constant, load_words(values + i), factors, values + i);
  }
  uint8_t rest[kBlock] = {};
  std::memcpy(rest, values + i, num_values - i);
  store_blend(constant, load_words(rest), factors, rest);
  std::memcpy(values + i, rest, num_values - i);
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
    // Pillow rounds sum / 13 to the nearest: (sum + 6) / 13, whose quotient is exact with this
    // factor up to 3321.
    const auto smooth = hn::ShiftRight<16>(hn::Mul(hn::Add(sum, hn::Set(d, 6)), hn::Set(d, 5042)));
    store_blend(smooth, center, factors, job.out + i);
  }
}

// As many pixels as there are doubles in a register.
using Doubles = hn::CappedTag<double, 8>;
using Singles = hn::Rebind<float, Doubles>;
using Ints = hn::Rebind<int32_t, Doubles>;
using IntBytes = hn::Rebind<uint8_t, Doubles>;

HWY_INLINE hn::Vec<Ints> load_ints(const uint8_t* bytes) {
  return hn::PromoteTo(Ints(), hn::LoadU(IntBytes(), bytes));
}

HWY_INLINE hn::Vec<Doubles> to_double(hn::Vec<Singles> value) {
  return hn::PromoteTo(Doubles(), value);
}

// Cuts off what is not negative.
HWY_INLINE hn::Vec<Ints> to_int(hn::Vec<Doubles> value) {
  return hn::DemoteTo(Ints(), value);
}

HWY_INLINE hn::Vec<Singles> to_single(hn::Vec<Ints> value) {
  return hn::ConvertTo(Singles(), value);
}

// Pillow's variables are floats and its constants doubles, which is followed here. What was made
// cheaper changes none of the 2^24 colours: its division by 6 is a multiplication, those by 255 are
// of floats. Two results by reference, because vectors of SVE cannot be members.
HWY_INLINE void hue_saturation(hn::Vec<Singles> red, hn::Vec<Singles> green, hn::Vec<Singles> blue,
                               hn::Vec<Singles> value, hn::Vec<Ints>& hue_out,
                               hn::Vec<Ints>& saturation_out) {
  const Singles f;
  const Doubles d;
  const auto one = hn::Set(d, 1.0);
  const auto scale = hn::Set(d, 255.0);
  const auto range = hn::Sub(value, hn::Min(red, hn::Min(green, blue)));
  // A grey pixel has neither; any divisor will do.
  const auto divisor = hn::Max(range, hn::Set(f, 1));
  const auto from_red = hn::Div(hn::Sub(value, red), divisor);
  const auto from_green = hn::Div(hn::Sub(value, green), divisor);
  const auto from_blue = hn::Div(hn::Sub(value, blue), divisor);
  const auto is_red = hn::Eq(red, value);
  const auto is_green = hn::Eq(green, value);
  const auto select = [&](auto of_red, auto of_green, auto of_blue) HWY_ATTR {
    return hn::IfThenElse(is_red, of_red, hn::IfThenElse(is_green, of_green, of_blue));
  };
  const auto base = select(hn::Zero(f), hn::Set(f, 2), hn::Set(f, 4));
  const auto plus = select(from_blue, from_red, from_green);
  const auto minus = select(from_green, from_blue, from_red);
  const auto turn =
      hn::DemoteTo(f, hn::Sub(hn::Add(to_double(base), to_double(plus)), to_double(minus)));
  auto hue = hn::Add(hn::Mul(to_double(turn), hn::Set(d, 1 / 6.0)), one);
  hue = hn::IfThenElse(hn::Ge(hue, one), hn::Sub(hue, one), hue);
  const auto saturation = hn::Div(range, hn::Max(value, hn::Set(f, 1)));
  hue_out = to_int(hn::Mul(to_double(hn::DemoteTo(f, hue)), scale));
  saturation_out = to_int(hn::Mul(to_double(saturation), scale));
}

HWY_INLINE void shift_hue_of(uint8_t* reds, uint8_t* greens, uint8_t* blues, int shift) {
  const Ints i32;
  const Singles f;
  const Doubles d;
  const auto one = hn::Set(d, 1.0);
  const auto half = hn::Set(d, 0.5);
  const auto red = load_ints(reds);
  const auto green = load_ints(greens);
  const auto blue = load_ints(blues);
  const auto v = hn::Max(red, hn::Max(green, blue));
  const auto value = to_single(v);
  hn::Vec<Ints> hue;
  hn::Vec<Ints> saturation;
  hue_saturation(to_single(red), to_single(green), to_single(blue), value, hue, saturation);
  hue = hn::And(hn::Add(hue, hn::Set(i32, shift)), hn::Set(i32, 255));

  const auto angle = hn::Mul(hue, hn::Set(i32, 6));
  // angle / 255, exact up to 1530
  const auto sector =
      hn::ShiftRight<16>(hn::Mul(hn::Add(angle, hn::Set(i32, 1)), hn::Set(i32, 257)));
  const auto rest = hn::Sub(angle, hn::Mul(sector, hn::Set(i32, 255)));
  const auto part = hn::Div(to_single(rest), hn::Set(f, 255));
  const auto s = hn::Div(to_single(saturation), hn::Set(f, 255));
  // Rounded: 1/2 is added and the rest cut off.
  const auto times_value = [&](auto factor) HWY_ATTR {
    return to_int(hn::Add(hn::Mul(to_double(value), factor), half));
  };
  const auto p = times_value(hn::Sub(one, to_double(s)));
  const auto q = times_value(hn::Sub(one, to_double(hn::Mul(s, part))));
  const auto t = times_value(hn::Sub(one, hn::Mul(to_double(s), hn::Sub(one, to_double(part)))));
  const auto is = [&](int k) HWY_ATTR { return hn::Eq(sector, hn::Set(i32, k)); };
  const auto is1 = is(1);
  const auto is2 = is(2);
  const auto is3 = is(3);
  const auto is4 = is(4);
  const auto is5 = is(5);
  const auto is_grey = hn::Eq(saturation, hn::Zero(i32));
  const auto store = [&](auto v0, auto v1, auto v2, auto v3, auto v4, auto v5, uint8_t* out)
                         HWY_ATTR {
                           auto result = hn::IfThenElse(is1, v1, v0);
                           result = hn::IfThenElse(is2, v2, result);
                           result = hn::IfThenElse(is3, v3, result);
                           result = hn::IfThenElse(is4, v4, result);
                           result = hn::IfThenElse(is5, v5, result);
                           result = hn::IfThenElse(is_grey, v, result);
                           hn::StoreU(hn::DemoteTo(IntBytes(), result), IntBytes(), out);
                         };
  store(v, q, p, p, t, v, reds);
  store(t, v, v, q, p, p, greens);
  store(p, p, t, v, v, q, blues);
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
HWY_EXPORT(SetLuma);
HWY_EXPORT(BlendWithLuma);
HWY_EXPORT(BlendWithValue);
HWY_EXPORT(BlendWithSmooth);
HWY_EXPORT(ShiftHue);
}  // namespace

uint64_t sum_luma(const uint8_t* rgb, size_t num_pixels) {
  return HWY_DYNAMIC_DISPATCH(SumLuma)(rgb, num_pixels);
}
void set_luma(uint8_t* rgb, size_t num_pixels) {
  HWY_DYNAMIC_DISPATCH(SetLuma)(rgb, num_pixels);
}
void blend_with_luma(uint8_t* rgb, size_t num_pixels, float factor) {
  HWY_DYNAMIC_DISPATCH(BlendWithLuma)(rgb, num_pixels, factor);
}
void blend_with_value(uint8_t* values, size_t num_values, int degenerate, float factor) {
  HWY_DYNAMIC_DISPATCH(BlendWithValue)(values, num_values, degenerate, factor);
}
void blend_with_smooth(const SmoothJob& job) {
  HWY_DYNAMIC_DISPATCH(BlendWithSmooth)(job);
}

void shift_hue(uint8_t* rgb, size_t num_pixels, uint8_t shift) {
  HWY_DYNAMIC_DISPATCH(ShiftHue)(rgb, num_pixels, shift);
}

}  // namespace ffkit
#endif  // HWY_ONCE
