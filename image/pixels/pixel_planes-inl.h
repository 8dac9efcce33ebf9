// Blocks of RGB pixels as planes, for loops that compute across channels. Included once for every
// instruction set, behind <hwy/highway.h>.
#if defined(FFKIT_LOADER_PIXEL_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FFKIT_LOADER_PIXEL_PLANES_INL_H_
#undef FFKIT_LOADER_PIXEL_PLANES_INL_H_
#else
#define FFKIT_LOADER_PIXEL_PLANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace ffkit {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ffkit
HWY_AFTER_NAMESPACE();

#endif  // include guard that is toggled
