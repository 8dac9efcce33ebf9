#include "resize/resample_passes.h"

// Without this the least that is compiled for is a processor without vectors, for which these loops
// make no sense; every x86-64 since 2008 has SSSE3.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "resize/resize_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "resize/value_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kShift = AxisFilter::kPrecisionBits;
constexpr int32_t kHalf = 1 << (kShift - 1);

using Bytes = hn::FixedTag<uint8_t, 16>;

// Of a perfect shuffle of 16 vectors twice over: from every fourth vector, four that stand side by
// side. Vectors of SVE have no size known to the compiler, so no arrays hold them here.
HWY_INLINE void shuffle_four(const uint8_t* in0, const uint8_t* in1, const uint8_t* in2,
                             const uint8_t* in3, uint8_t* out, ptrdiff_t stride) {
  const Bytes d;
  const auto a = hn::LoadU(d, in0);
  const auto b = hn::LoadU(d, in1);
  const auto c = hn::LoadU(d, in2);
  const auto e = hn::LoadU(d, in3);
  const auto lower_ac = hn::InterleaveLower(d, a, c);
  const auto upper_ac = hn::InterleaveUpper(d, a, c);
  const auto lower_be = hn::InterleaveLower(d, b, e);
  const auto upper_be = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, lower_ac, lower_be), d, out);
  hn::StoreU(hn::InterleaveUpper(d, lower_ac, lower_be), d, out + stride);
  hn::StoreU(hn::InterleaveLower(d, upper_ac, upper_be), d, out + 2 * stride);
  hn::StoreU(hn::InterleaveUpper(d, upper_ac, upper_be), d, out + 3 * stride);
}

// Transposes 16 x 16 bytes: four perfect shuffles of the 16 vectors turn the index bits (row,
// column) into (column, row).
template <typename Row>
HWY_INLINE void transpose(const Row& row, uint8_t* out, ptrdiff_t stride) {
  HWY_ALIGN uint8_t half[16 * 16];
  for (int i = 0; i < 4; ++i) {
    shuffle_four(row(i), row(i + 4), row(i + 8), row(i + 12), half + i * 64, 16);
  }
  for (int i = 0; i < 4; ++i) {
    const uint8_t* in = half + i * 16;
    shuffle_four(in, in + 64, in + 128, in + 192, out + 4 * i * stride, stride);
  }
}

// out[column][row] for all columns.
void rows_to_columns(const uint8_t* const* rows, size_t num_columns, uint8_t* out) {
  for (size_t column = 0; column < num_columns; column += 16) {
    transpose([&](int i) { return rows[i] + column; }, out + column * 16, 16);
  }
}

void columns_to_rows(const uint8_t* columns, size_t num_columns, uint8_t* out, ptrdiff_t stride) {
  for (size_t column = 0; column < num_columns; column += 16) {
    const uint8_t* in = columns + column * 16;
    transpose([&](int i) { return in + 16 * i; }, out + column, stride);
  }
}

// Rounded results as bytes; Pillow's clip8.
HWY_INLINE hn::Vec<WordBytes> to_bytes(hn::Vec<Words> sum) {
  return hn::DemoteTo(WordBytes(), hn::ShiftRight<kShift>(sum));
}

void filter_columns(const HorizontalJob& job) {
  const Words d;
  const AxisFilter& filter = *job.filter;
  const int num_outputs = filter.num_outputs();
  const size_t pixel_step = job.planar ? 1 : 3;
  const size_t channel_step = job.planar ? static_cast<size_t>(num_outputs) : 1;
  for (size_t lane = 0; lane < kRowBlock; lane += hn::Lanes(d)) {
    for (int i = 0; i < num_outputs; ++i) {
      const AxisFilter::Taps& taps = filter.taps(i);
      const uint8_t* in = job.columns + static_cast<size_t>(taps.first) * 3 * kRowBlock + lane;
      auto red = hn::Set(d, kHalf);
      auto green = red;
      auto blue = red;
      for (int k = 0; k < taps.count; ++k) {
        const auto weight = hn::Set(d, taps.weights[k]);
        red = hn::Add(red, hn::Mul(load_words(in), weight));
        green = hn::Add(green, hn::Mul(load_words(in + kRowBlock), weight));
        blue = hn::Add(blue, hn::Mul(load_words(in + 2 * kRowBlock), weight));
        in += 3 * kRowBlock;
      }
      const auto column = static_cast<size_t>(job.flip ? num_outputs - 1 - i : i) * pixel_step;
      uint8_t* out = job.results + column * kRowBlock + lane;
      hn::StoreU(to_bytes(red), WordBytes(), out);
      hn::StoreU(to_bytes(green), WordBytes(), out + channel_step * kRowBlock);
      hn::StoreU(to_bytes(blue), WordBytes(), out + 2 * channel_step * kRowBlock);
    }
  }
}

void ResampleHorizontal(const HorizontalJob& job) {
  const AxisFilter& filter = *job.filter;
  rows_to_columns(job.rows, 3 * static_cast<size_t>(filter.end() - filter.begin()), job.columns);
  filter_columns(job);
  columns_to_rows(job.results, 3 * static_cast<size_t>(filter.num_outputs()), job.out,
                  job.out_stride);
}

// What becomes of the sums of the columns from `column` on.
template <typename Store>
HWY_INLINE void store_sums(const VerticalJob& job, hn::Vec<Words> sums, size_t column,
                           typename Store::Element* out) {
  const size_t at = Store::kIsScaled ? column : 0;
  Store()(hn::ShiftRight<kShift>(sums), job.scale + at, job.bias + at, out + column);
}

// A register of columns from `column` on.
template <typename Store>
HWY_INLINE void filter_one(const VerticalJob& job, const AxisFilter::Taps& taps, size_t column,
                           typename Store::Element* out) {
  const Words d;
  const uint8_t* in = job.rows + taps.first * job.stride + column;
  auto sums = hn::Set(d, kHalf);
  for (int k = 0; k < taps.count; ++k) {
    sums = hn::Add(sums, hn::Mul(load_words(in), hn::Set(d, taps.weights[k])));
    in += job.stride;
  }
  store_sums<Store>(job, sums, column, out);
}

// Four registers of columns: a row of weights is read once for all of them.
template <typename Store>
HWY_INLINE void filter_four(const VerticalJob& job, const AxisFilter::Taps& taps, size_t column,
                            typename Store::Element* out) {
  const Words d;
  const size_t lanes = hn::Lanes(d);
  const uint8_t* in = job.rows + taps.first * job.stride + column;
  auto sums0 = hn::Set(d, kHalf);
  auto sums1 = sums0;
  auto sums2 = sums0;
  auto sums3 = sums0;
  for (int k = 0; k < taps.count; ++k) {
    const auto weight = hn::Set(d, taps.weights[k]);
    sums0 = hn::Add(sums0, hn::Mul(load_words(in), weight));
    sums1 = hn::Add(sums1, hn::Mul(load_words(in + lanes), weight));
    sums2 = hn::Add(sums2, hn::Mul(load_words(in + 2 * lanes), weight));
    sums3 = hn::Add(sums3, hn::Mul(load_words(in + 3 * lanes), weight));
    in += job.stride;
  }
  store_sums<Store>(job, sums0, column, out);
  store_sums<Store>(job, sums1, column + lanes, out);
  store_sums<Store>(job, sums2, column + 2 * lanes, out);
  store_sums<Store>(job, sums3, column + 3 * lanes, out);
}

template <typename Store>
HWY_INLINE void filter_row(const VerticalJob& job, const AxisFilter::Taps& taps,
                           typename Store::Element* out) {
  const size_t lanes = hn::Lanes(Words());
  const size_t end = job.num_columns;
  size_t column = 0;
  for (; column + 4 * lanes <= end; column += 4 * lanes) {
    filter_four<Store>(job, taps, column, out);
  }
  for (; column + lanes <= end; column += lanes) filter_one<Store>(job, taps, column, out);
  if (column < end) filter_one<Store>(job, taps, end - lanes, out);  // overlaps what is done
}

template <typename Store>
void filter_rows(const VerticalJob& job) {
  auto* out = static_cast<uint8_t*>(job.out);
  for (int y = 0; y < job.filter->num_outputs(); ++y) {
    filter_row<Store>(job, job.filter->taps(y), reinterpret_cast<typename Store::Element*>(out));
    out += job.out_stride_bytes;
  }
}

void ResampleVertical(const VerticalJob& job) {
  switch (job.dtype) {
    case DType::u8:
      return filter_rows<StoreU8>(job);
    case DType::f16:
      return filter_rows<StoreF16>(job);
    case DType::bf16:
      return filter_rows<StoreBf16>(job);
    default:
      return filter_rows<StoreF32>(job);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {
namespace {
HWY_EXPORT(ResampleHorizontal);
HWY_EXPORT(ResampleVertical);
}  // namespace

void resample_horizontal(const HorizontalJob& job) {
  HWY_DYNAMIC_DISPATCH(ResampleHorizontal)(job);
}
void resample_vertical(const VerticalJob& job) {
  HWY_DYNAMIC_DISPATCH(ResampleVertical)(job);
}

}  // namespace ffkit
#endif  // HWY_ONCE
