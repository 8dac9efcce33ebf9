// Which stream of a sample's random numbers each part of the pipeline draws from. Changing one
// changes what users' seeds give.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffkit {

constexpr uint8_t kCropStream = 0;     // crop, then flip
constexpr uint8_t kErasingStream = 1;  // RandomErasing
constexpr uint8_t kMixingStream = 2;   // MixOptions, of the batch
// 3: BevAugmentation of ffkit::nuscenes_loader

// The n-th augmentation of the kind that is number `kind` in the variant Augmentation.
constexpr int kStreamsPerAugmentation = 16;
constexpr uint8_t augmentation_stream(size_t kind, int n) {
  constexpr size_t kFirst = 16;
  return static_cast<uint8_t>(kFirst + kind * kStreamsPerAugmentation + static_cast<size_t>(n));
}

}  // namespace ffkit
