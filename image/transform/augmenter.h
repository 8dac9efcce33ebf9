// Augmenter: runs a pipeline's augmentations on the pixels of one sample after another.
//
// Keeps its buffer between samples. Not thread-safe: one per thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/random.h>

namespace ffkit {

// What ColorJitter does to one sample.
struct DrawnJitter {
  std::array<uint8_t, 4> order = {0, 1, 2, 3};  // of brightness, contrast, saturation, hue
  double brightness = 1;
  double contrast = 1;
  double saturation = 1;
  double hue = 0;
};
DrawnJitter draw_jitter(const ColorJitter& options, CounterRandom& random);

class Augmenter {
 public:
  // `augmentations` must have passed validate(); pictures are of `size`.
  Augmenter(const std::vector<Augmentation>& augmentations, ImageSize size);

  // Changes `image` in place. Throws what a PixelTransform throws; the pixels are undefined then.
  void run(const RgbImage& image, const SampleKey& key);

 private:
  void apply(const ColorJitter& options, const RgbImage& image, CounterRandom& random);
  void apply(const RandAugment& options, const RgbImage& image, CounterRandom& random);
  void apply(const TrivialAugmentWide& options, const RgbImage& image, CounterRandom& random);
  void apply(const std::shared_ptr<const PixelTransform>& transform, const RgbImage& image,
             CounterRandom& random);
  // Not called: validate() lets it only where FloatScaler works.
  void apply(const PhotoMetricDistortion&, const RgbImage&, CounterRandom&) {}

  struct Step {
    Augmentation augmentation;
    uint8_t stream;
  };
  std::vector<Step> steps_;
  std::vector<uint8_t> scratch_;
};

}  // namespace ffkit
