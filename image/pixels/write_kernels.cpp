#include <cstring>

#include "pixels/pixel_kernels.h"

// As in resize_kernels.cpp.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pixels/write_kernels.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "pixels/pixel_writer.h"
#include "resize/value_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ffkit {
namespace {
HWY_EXPORT(WritePixels);
}  // namespace

void write_pixels(const WriteJob& job) {
  if (job.width == 0 || job.height == 0) return;  // `out` may be null
  HWY_DYNAMIC_DISPATCH(WritePixels)(job);
}

}  // namespace ffkit
#endif  // HWY_ONCE
