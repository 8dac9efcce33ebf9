#include "resize/resize_kernels.h"

// Without this the least that is compiled for is a processor without vectors, for which these loops make no sense; every x86-64
// since 2008 has SSSE3.
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

// Transposes 16 x 16 bytes: four perfect shuffles of the 16 registers turn the index bits (row, column) into (column, row).
HWY_INLINE void transpose(hn::Vec<Bytes>* v) {
  const Bytes d;
  hn::Vec<Bytes> t[16];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 8; ++i) {
      t[2 * i] = hn::InterleaveLower(d, v[i], v[i + 8]);
      t[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + 8]);
    }
    for (int i = 0; i < 8; ++i) {
      v[2 * i] = hn::InterleaveLower(d, t[i], t[i + 8]);
      v[2 * i + 1] = hn::InterleaveUpper(d, t[i], t[i + 8]);
    }
  }
}

// out[column][row] for all columns.
void rows_to_columns(const uint8_t* const* rows, size_t num_columns, uint8_t* out) {
  const Bytes d;
  for (size_t column = 0; column < num_columns; column += 16) {
    hn::Vec<Bytes> v[16];
    for (int row = 0; row < 16; ++row) v[row] = hn::LoadU(d, rows[row] + column);
    transpose(v);
    for (size_t i = 0; i < 16; ++i) hn::Store(v[i], d, out + (column + i) * 16);
  }
}

void columns_to_rows(const uint8_t* columns, size_t num_columns, uint8_t* out, ptrdiff_t stride) {
  const Bytes d;
  for (size_t column = 0; column < num_columns; column += 16) {
    hn::Vec<Bytes> v[16];
    for (size_t i = 0; i < 16; ++i) v[i] = hn::Load(d, columns + (column + i) * 16);
    transpose(v);
    for (int row = 0; row < 16; ++row) hn::StoreU(v[row], d, out + row * stride + column);
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

// kVectors registers of columns from `column` on.
template <typename Store, int kVectors>
HWY_INLINE void filter_part(const VerticalJob& job, const AxisFilter::Taps& taps, size_t column,
                            typename Store::Element* out) {
  const Words d;
  const size_t lanes = hn::Lanes(d);
  const uint8_t* in = job.rows + taps.first * job.stride + column;
  hn::Vec<Words> sums[kVectors];
  for (auto& sum : sums) sum = hn::Set(d, kHalf);
  for (int k = 0; k < taps.count; ++k) {
    const auto weight = hn::Set(d, taps.weights[k]);
    for (int i = 0; i < kVectors; ++i) {
      sums[i] = hn::Add(sums[i], hn::Mul(load_words(in + i * lanes), weight));
    }
    in += job.stride;
  }
  for (int i = 0; i < kVectors; ++i) {
    const size_t at = Store::kIsScaled ? column : 0;
    Store()(hn::ShiftRight<kShift>(sums[i]), job.scale + at, job.bias + at, out + column);
    column += lanes;
  }
}

template <typename Store>
HWY_INLINE void filter_row(const VerticalJob& job, const AxisFilter::Taps& taps,
                           typename Store::Element* out) {
  constexpr int kVectors = 4;
  const size_t lanes = hn::Lanes(Words());
  const size_t end = job.num_columns;
  size_t column = 0;
  for (; column + kVectors * lanes <= end; column += kVectors * lanes) {
    filter_part<Store, kVectors>(job, taps, column, out);
  }
  for (; column + lanes <= end; column += lanes) filter_part<Store, 1>(job, taps, column, out);
  if (column < end) filter_part<Store, 1>(job, taps, end - lanes, out);  // overlaps what is done
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
