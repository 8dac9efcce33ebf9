// Augmenter: runs a pipeline's augmentations on the pixels of one sample after another.
//
// Keeps its buffer between samples. Not thread-safe: one per thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/random.h>

#include "pixels/gaussian_blur.h"
#include "transform/auto_augment.h"

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

// Which of its augmentations OneOf takes for one sample.
size_t draw_one(const OneOf& options, CounterRandom& random);

class Augmenter {
 public:
  // `augmentations` must have passed validate(); pictures are of `size`.
  Augmenter(const std::vector<Augmentation>& augmentations, ImageSize size);

  // What run() will do to the places of pixels: the operations of RandAugment,
  // TrivialAugmentWide and AutoAugment, one after the other, each with its fill.
  struct PlacedOp {
    DrawnOp drawn;
    RgbColor fill;
  };
  void draw_ops(const SampleKey& key, std::vector<PlacedOp>& ops) const;

  // Changes `image` in place. Throws what a PixelTransform throws; the pixels are undefined then.
  void run(const RgbImage& image, const SampleKey& key);

 private:
  // An augmentation, where its numbers come from, and those within it.
  struct Step {
    CounterRandom random_of(const SampleKey& key) const;

    Augmentation augmentation;
    uint64_t place = 0;  // if `stream` is kNestedStream
    uint8_t stream = 0;
    std::vector<Step> within = {};
  };
  static std::vector<Step> make_steps(const std::vector<Augmentation>& augmentations,
                                      uint64_t list);
  void run(const Step& step, const RgbImage& image, const SampleKey& key);
  void draw_ops(const Step& step, const SampleKey& key, std::vector<PlacedOp>& ops) const;

  void apply(const ColorJitter& options, const RgbImage& image, CounterRandom& random);
  void apply(const RandAugment& options, const RgbImage& image, CounterRandom& random);
  void apply(const TrivialAugmentWide& options, const RgbImage& image, CounterRandom& random);
  void apply(const std::shared_ptr<const PixelTransform>& transform, const RgbImage& image,
             CounterRandom& random);
  // Not called: validate() lets it only where FloatScaler works.
  void apply(const PhotoMetricDistortion&, const RgbImage&, CounterRandom&) {}
  void apply(const GaussianBlur& options, const RgbImage& image, CounterRandom& random);
  void apply(const Solarize& options, const RgbImage& image, CounterRandom&);
  void apply(const Posterize& options, const RgbImage& image, CounterRandom&);
  void apply(const Equalize&, const RgbImage& image, CounterRandom&);
  void apply(const AutoContrast&, const RgbImage& image, CounterRandom&);
  void apply(const Grayscale&, const RgbImage& image, CounterRandom&);
  void apply(const Invert&, const RgbImage& image, CounterRandom&);
  void apply(const AdjustSharpness& options, const RgbImage& image, CounterRandom&);
  void apply(const AutoAugment& options, const RgbImage& image, CounterRandom& random);

  ImageSize size_;
  std::vector<Step> steps_;
  std::vector<uint8_t> scratch_;
  GaussianBlurrer blurrer_;
};

}  // namespace ffkit
