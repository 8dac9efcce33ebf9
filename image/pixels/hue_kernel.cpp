#include <cstdint>

#include "pixels/pixel_kernels.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/hue_kernel.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "pixels/pixel_planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

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
HWY_EXPORT(ShiftHue);
}  // namespace

void shift_hue(uint8_t* rgb, size_t num_pixels, uint8_t shift) {
  HWY_DYNAMIC_DISPATCH(ShiftHue)(rgb, num_pixels, shift);
}

}  // namespace ffkit
#endif  // HWY_ONCE
