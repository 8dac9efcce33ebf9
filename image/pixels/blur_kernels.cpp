#include <algorithm>

#include "pixels/pixel_kernels.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/blur_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using BoxSums = hn::CappedTag<uint16_t, 32>;
using BoxBytes = hn::Rebind<uint8_t, BoxSums>;
using BoxProducts = hn::Repartition<uint32_t, BoxSums>;
using BlurFloats = hn::CappedTag<float, 16>;
using BlurBytes = hn::Rebind<uint8_t, BlurFloats>;
using BlurWords = hn::Rebind<int32_t, BlurFloats>;

HWY_INLINE hn::Vec<BoxSums> load_sums(const uint8_t* bytes) {
  return hn::PromoteTo(BoxSums(), hn::LoadU(BoxBytes(), bytes));
}

template <typename SumsHalf>
HWY_INLINE void store_half(SumsHalf sum, SumsHalf far, const BoxBlur& blur, uint8_t* out) {
  const BoxProducts d;
  const auto bulk = hn::Add(hn::Mul(hn::PromoteTo(d, sum), hn::Set(d, blur.inner)),
                            hn::Mul(hn::PromoteTo(d, far), hn::Set(d, blur.outer)));
  const auto rounded = hn::ShiftRight<24>(hn::Add(bulk, hn::Set(d, 1U << 23)));
  const hn::Rebind<int32_t, BoxProducts> words;
  const hn::Rebind<uint8_t, BoxProducts> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(words, rounded)), bytes, out);
}

HWY_INLINE void store_box(hn::Vec<BoxSums> sum, hn::Vec<BoxSums> far, const BoxBlur& blur,
                          uint8_t* out) {
  const hn::Half<BoxSums> half;
  store_half(hn::LowerHalf(half, sum), hn::LowerHalf(half, far), blur, out);
  store_half(hn::UpperHalf(half, sum), hn::UpperHalf(half, far), blur,
             out + hn::Lanes(BoxProducts()));
}

void BoxBlurRow(const uint8_t* row, size_t num_values, const BoxBlur& blur, uint8_t* out) {
  const ptrdiff_t reach = ptrdiff_t{3} * blur.radius;
  for (size_t i = 0; i < num_values; i += hn::Lanes(BoxSums())) {
    const uint8_t* middle = row + i;
    auto sum = load_sums(middle);
    for (ptrdiff_t k = 3; k <= reach; k += 3) {
      sum = hn::Add(sum, hn::Add(load_sums(middle - k), load_sums(middle + k)));
    }
    const auto far = hn::Add(load_sums(middle - reach - 3), load_sums(middle + reach + 3));
    store_box(sum, far, blur, out + i);
  }
}

void BoxBlurStrip(const uint8_t* strip, int height, const BoxBlur& blur, uint8_t* out) {
  const int last = height - 1;
  const auto row = [&](int y) HWY_ATTR {
    return strip + static_cast<size_t>(std::clamp(y, 0, last)) * kBlurStrip;
  };
  for (size_t i = 0; i < kBlurStrip; i += hn::Lanes(BoxSums())) {
    // The sum of what lies around row -1.
    auto sum =
        hn::Mul(load_sums(strip + i), hn::Set(BoxSums(), static_cast<uint16_t>(blur.radius + 1)));
    for (int y = 0; y < blur.radius; ++y) sum = hn::Add(sum, load_sums(row(y) + i));
    for (int y = 0; y < height; ++y) {
      const auto before = load_sums(row(y - blur.radius - 1) + i);
      sum = hn::Sub(hn::Add(sum, load_sums(row(y + blur.radius) + i)), before);
      const auto far = hn::Add(before, load_sums(row(y + blur.radius + 1) + i));
      store_box(sum, far, blur, out + static_cast<size_t>(y) * kBlurStrip + i);
    }
  }
}

void ConvolveRow(const float* row, size_t num_values, const SymmetricKernel& kernel, float* out) {
  const BlurFloats d;
  for (size_t i = 0; i < num_values; i += hn::Lanes(d)) {
    const float* middle = row + i;
    auto sum = hn::Mul(hn::LoadU(d, middle), hn::Set(d, kernel.weights[0]));
    for (int k = 1; k <= kernel.radius; ++k) {
      const auto both =
          hn::Add(hn::LoadU(d, middle - ptrdiff_t{3} * k), hn::LoadU(d, middle + ptrdiff_t{3} * k));
      sum = hn::Add(sum, hn::Mul(both, hn::Set(d, kernel.weights[k])));
    }
    hn::StoreU(sum, d, out + i);
  }
}

void ConvolveRows(const float* const* rows, size_t num_values, const SymmetricKernel& kernel,
                  uint8_t* out) {
  const BlurFloats d;
  const float* const* middle = rows + kernel.radius;
  for (size_t i = 0; i < num_values; i += hn::Lanes(d)) {
    auto sum = hn::Mul(hn::LoadU(d, middle[0] + i), hn::Set(d, kernel.weights[0]));
    for (int k = 1; k <= kernel.radius; ++k) {
      const auto both = hn::Add(hn::LoadU(d, middle[-k] + i), hn::LoadU(d, middle[k] + i));
      sum = hn::Add(sum, hn::Mul(both, hn::Set(d, kernel.weights[k])));
    }
    hn::StoreU(hn::DemoteTo(BlurBytes(), hn::NearestInt(sum)), BlurBytes(), out + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {
namespace {
HWY_EXPORT(BoxBlurRow);
HWY_EXPORT(BoxBlurStrip);
HWY_EXPORT(ConvolveRow);
HWY_EXPORT(ConvolveRows);
}  // namespace

void box_blur_row(const uint8_t* row, size_t num_values, const BoxBlur& blur, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(BoxBlurRow)(row, num_values, blur, out);
}
void box_blur_strip(const uint8_t* strip, int height, const BoxBlur& blur, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(BoxBlurStrip)(strip, height, blur, out);
}
void convolve_row(const float* row, size_t num_values, const SymmetricKernel& kernel, float* out) {
  HWY_DYNAMIC_DISPATCH(ConvolveRow)(row, num_values, kernel, out);
}
void convolve_rows(const float* const* rows, size_t num_values, const SymmetricKernel& kernel,
                   uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(ConvolveRows)(rows, num_values, kernel, out);
}

}  // namespace ffkit
#endif  // HWY_ONCE
