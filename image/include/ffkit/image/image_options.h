// ImageOptions: all that happens between an encoded picture and its place in the batch.
//
//   decode ─▶ transform (crop, resize, flip) ─▶ augmentations in order
//          ─▶ normalise, convert, lay out ─▶ erasing
#pragma once

#include <optional>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/transform.h>

namespace ffkit {

struct ImageOptions {
  ImageTransform transform = RandomResizedCrop{};
  std::vector<Augmentation> augmentations = {};  // at most 16 of a kind
  std::optional<RandomErasing> erasing = {};
  ImageOutput output = {};
};

// Throws Error(invalid_argument) that names the first value out of range.
void validate(const ImageOptions& options);

// Whether one of them, or of those within an Apply or OneOf, moves pixels to other places:
// RandAugment, TrivialAugmentWide and AutoAugment.
bool moves_pixels(const std::vector<Augmentation>& augmentations);

}  // namespace ffkit
