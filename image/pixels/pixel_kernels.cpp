#include "pixels/pixel_kernels.h"

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

#include "pixels/pixel_planes-inl.h"
#include "resize/value_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

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

}  // namespace ffkit
#endif  // HWY_ONCE
