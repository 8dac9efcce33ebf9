#include <limits>

#include "pixels/pixel_kernels.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/distort_kernel.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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
HWY_EXPORT(DistortRows);
}  // namespace

void distort_rows(float* rows, size_t stride, size_t count, const RowDistortion& distortion) {
  HWY_DYNAMIC_DISPATCH(DistortRows)(rows, stride, count, distortion);
}

}  // namespace ffkit
#endif  // HWY_ONCE
