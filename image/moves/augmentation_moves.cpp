#include "moves/augmentation_moves.h"

#include <ffkit/image/image_options.h>

namespace ffkit {

AugmentationMoves::AugmentationMoves(const std::vector<Augmentation>& augmentations, ImageSize size)
    : size_(size),
      augmenter_(moves_pixels(augmentations) ? augmentations : std::vector<Augmentation>{}, size) {}

void AugmentationMoves::add(const SampleKey& key, Moves& moves) {
  ops_.clear();
  augmenter_.draw_ops(key, ops_);
  for (const auto& [drawn, fill] : ops_) {
    const ViewMatrix source =
        source_of(drawn, static_cast<int>(size_.width), static_cast<int>(size_.height));
    if (source == Warp{}.source) continue;
    moves.push_back({.what = Warp{.source = source, .fill = fill}, .size = size_});
  }
}

}  // namespace ffkit
