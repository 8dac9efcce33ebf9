// Which stream of a sample's random numbers each part of the pipeline draws from. Changing one
// changes what users' seeds give.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/image/random.h>

#include "base/mix64.h"

namespace ffkit {

constexpr uint8_t kCropStream = 0;     // crop, then flip
constexpr uint8_t kErasingStream = 1;  // RandomErasing
constexpr uint8_t kMixingStream = 2;   // MixOptions, of the batch
// 3: BevAugmentation of ffkit::nuscenes_loader
constexpr uint8_t kFramesStream = 4;  // which frames of a video a clip has

// The n-th augmentation of the kind that is number `kind` in the variant Augmentation, for those
// kinds that were there before GaussianBlur, the first kind of nested_key().
constexpr int kStreamsPerAugmentation = 16;
constexpr uint8_t augmentation_stream(size_t kind, int n) {
  constexpr size_t kFirst = 16;
  return static_cast<uint8_t>(kFirst + kind * kStreamsPerAugmentation + static_cast<size_t>(n));
}

// All other augmentations, and those of any kind within an Apply or OneOf, draw from this stream,
// with keys that differ by their places. 97 .. 124 are left.
constexpr size_t kFirstNestedKind = 5;
constexpr uint8_t kNestedStream = augmentation_stream(kFirstNestedKind, 0);

// The place of the n-th augmentation of a kind in its list: `list` is kTopPlace, or the place of
// the Apply or OneOf whose list it is. Another kind in any list moves no place.
constexpr uint64_t kTopPlace = 0;
constexpr uint64_t augmentation_place(uint64_t list, size_t kind, int n) {
  return mix64(list, static_cast<uint64_t>(kind) << 32 | static_cast<uint64_t>(n));
}
constexpr SampleKey nested_key(const SampleKey& key, uint64_t place) {
  return {mix64(place, key.seed), key.epoch, key.record_index};
}

}  // namespace ffkit
