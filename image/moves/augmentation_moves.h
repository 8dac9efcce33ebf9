// AugmentationMoves: what RandAugment and its kin do to the places of pixels, for what
// follows a picture.
#pragma once

#include <vector>

#include <ffkit/image/random.h>

#include "moves/move.h"
#include "transform/augmenter.h"

namespace ffkit {

// Not thread-safe.
class AugmentationMoves {
 public:
  // `augmentations` must have passed validate(); pictures are of `size`.
  AugmentationMoves(const std::vector<Augmentation>& augmentations, ImageSize size);

  // Adds those of the sample with this key.
  void add(const SampleKey& key, Moves& moves);

 private:
  ImageSize size_;
  Augmenter augmenter_;
  std::vector<Augmenter::PlacedOp> ops_;
};

}  // namespace ffkit
