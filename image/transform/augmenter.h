// Augmenter: runs a pipeline's augmentations on the pixels of one sample after another.
//
// Keeps its buffer between samples. Not thread-safe: one per thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/random.h>

#include "pixels/pixel_ops.h"

namespace ffkit {

// The operations that RandAugment, TrivialAugmentWide and AutoAugment choose from, their magnitudes
// and the choice. Tables and order are those of torchvision/transforms/v2/_auto_augment.py.
enum class AugmentOp : uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
  invert,  // AutoAugment's alone
};
constexpr int kNumAugmentOps = 14;  // without it

// torch.linspace(0, end, num_bins)[bin] of f32, and so on; 0 for operations without a magnitude.
// `size` is the picture's.
double rand_augment_magnitude(AugmentOp op, int bin, int num_bins, ImageSize size);
double trivial_augment_magnitude(AugmentOp op, int bin, int num_bins);

struct DrawnOp {
  AugmentOp op = AugmentOp::identity;
  double magnitude = 0;  // with its sign
};
DrawnOp draw_op(const RandAugment& options, ImageSize size, CounterRandom& random);
DrawnOp draw_op(const TrivialAugmentWide& options, CounterRandom& random);
std::array<DrawnOp, 2> draw_ops(const AutoAugment& options, ImageSize size, CounterRandom& random);

// _apply_image_or_video_transform(); `scratch` as in pixel_ops.h.
void apply_op(const RgbImage& image, const DrawnOp& drawn, RgbColor fill, uint8_t* scratch);

// The same of places: where pixels of the new picture of width x height pixels lie in the old one.
// The identity for operations on colours.
ViewMatrix source_of(const DrawnOp& drawn, int width, int height);

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
  // `augmentations` must have passed validate().
  explicit Augmenter(const std::vector<Augmentation>& augmentations);

  // What run() will do to the places of pixels of a picture of `size`: the operations of
  // RandAugment, TrivialAugmentWide and AutoAugment, one after the other, each with its fill.
  struct PlacedOp {
    DrawnOp drawn;
    RgbColor fill;
  };
  void draw_ops(const SampleKey& key, ImageSize size, std::vector<PlacedOp>& ops) const;

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
  void draw_ops(const Step& step, const SampleKey& key, ImageSize size,
                std::vector<PlacedOp>& ops) const;

  void apply(const ColorJitter& options, const RgbImage& image, CounterRandom& random);
  void apply(const RandAugment& options, const RgbImage& image, CounterRandom& random);
  void apply(const TrivialAugmentWide& options, const RgbImage& image, CounterRandom& random) {
    apply_op(image, draw_op(options, random), options.fill, scratch_.data());
  }
  void apply(const std::shared_ptr<const PixelTransform>& transform, const RgbImage& image,
             CounterRandom& random) {
    transform->apply(image, random);
  }
  // Not called: validate() lets it only where FloatScaler works.
  void apply(const PhotoMetricDistortion&, const RgbImage&, CounterRandom&) {}
  void apply(const GaussianBlur& options, const RgbImage& image, CounterRandom& random);
  void apply(const Solarize& options, const RgbImage& image, CounterRandom&) {
    solarize(image, options.threshold);
  }
  void apply(const Posterize& options, const RgbImage& image, CounterRandom&) {
    posterize(image, options.bits);
  }
  void apply(const Equalize&, const RgbImage& image, CounterRandom&) { equalize(image); }
  void apply(const AutoContrast&, const RgbImage& image, CounterRandom&) { autocontrast(image); }
  void apply(const Grayscale&, const RgbImage& image, CounterRandom&) { grayscale(image); }
  void apply(const Invert&, const RgbImage& image, CounterRandom&) { invert(image); }
  void apply(const AdjustSharpness& options, const RgbImage& image, CounterRandom&) {
    adjust_sharpness(image, options.factor, scratch_.data());
  }
  void apply(const AutoAugment& options, const RgbImage& image, CounterRandom& random);

  std::vector<Step> steps_;
  std::vector<uint8_t> scratch_;
  GaussianBlurrer blurrer_;
};

// RandomErasing on a finished sample.

// The rectangle that is erased of a picture of `size`, of width 0 when nothing is. torchvision's
// RandomErasing.get_params.
Rect draw_erasing(const RandomErasing& options, ImageSize size, CounterRandom& random);

// Draws and erases: `image` is one sample of `size` as `output` says; its top left is the picture.
void erase(const RandomErasing& options, const ImageOutput& output, ImageSize size,
           ImageSize picture, CounterRandom& random, void* image);

// The policies of AutoAugment (Cubuk et al., "AutoAugment: Learning Augmentation Policies from
// Data", 2018), in the order of torchvision/transforms/v2/_auto_augment.py.
struct PolicyStep {
  AugmentOp op;
  double probability;
  int8_t bin;  // of 10; 0 where the operation has no magnitude
};

// Both are done, one after the other, each with its probability.
using SubPolicy = std::array<PolicyStep, 2>;

// clang-format off
inline constexpr std::array<SubPolicy, 25> kImagenetPolicy = {{
    {{{AugmentOp::posterize, 0.4, 8}, {AugmentOp::rotate, 0.6, 9}}},
    {{{AugmentOp::solarize, 0.6, 5}, {AugmentOp::autocontrast, 0.6, 0}}},
    {{{AugmentOp::equalize, 0.8, 0}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::posterize, 0.6, 7}, {AugmentOp::posterize, 0.6, 6}}},
    {{{AugmentOp::equalize, 0.4, 0}, {AugmentOp::solarize, 0.2, 4}}},
    {{{AugmentOp::equalize, 0.4, 0}, {AugmentOp::rotate, 0.8, 8}}},
    {{{AugmentOp::solarize, 0.6, 3}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::posterize, 0.8, 5}, {AugmentOp::equalize, 1.0, 0}}},
    {{{AugmentOp::rotate, 0.2, 3}, {AugmentOp::solarize, 0.6, 8}}},
    {{{AugmentOp::equalize, 0.6, 0}, {AugmentOp::posterize, 0.4, 6}}},
    {{{AugmentOp::rotate, 0.8, 8}, {AugmentOp::color, 0.4, 0}}},
    {{{AugmentOp::rotate, 0.4, 9}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::equalize, 0.0, 0}, {AugmentOp::equalize, 0.8, 0}}},
    {{{AugmentOp::invert, 0.6, 0}, {AugmentOp::equalize, 1.0, 0}}},
    {{{AugmentOp::color, 0.6, 4}, {AugmentOp::contrast, 1.0, 8}}},
    {{{AugmentOp::rotate, 0.8, 8}, {AugmentOp::color, 1.0, 2}}},
    {{{AugmentOp::color, 0.8, 8}, {AugmentOp::solarize, 0.8, 7}}},
    {{{AugmentOp::sharpness, 0.4, 7}, {AugmentOp::invert, 0.6, 0}}},
    {{{AugmentOp::shear_x, 0.6, 5}, {AugmentOp::equalize, 1.0, 0}}},
    {{{AugmentOp::color, 0.4, 0}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::equalize, 0.4, 0}, {AugmentOp::solarize, 0.2, 4}}},
    {{{AugmentOp::solarize, 0.6, 5}, {AugmentOp::autocontrast, 0.6, 0}}},
    {{{AugmentOp::invert, 0.6, 0}, {AugmentOp::equalize, 1.0, 0}}},
    {{{AugmentOp::color, 0.6, 4}, {AugmentOp::contrast, 1.0, 8}}},
    {{{AugmentOp::equalize, 0.8, 0}, {AugmentOp::equalize, 0.6, 0}}},
}};
inline constexpr std::array<SubPolicy, 25> kCifar10Policy = {{
    {{{AugmentOp::invert, 0.1, 0}, {AugmentOp::contrast, 0.2, 6}}},
    {{{AugmentOp::rotate, 0.7, 2}, {AugmentOp::translate_x, 0.3, 9}}},
    {{{AugmentOp::sharpness, 0.8, 1}, {AugmentOp::sharpness, 0.9, 3}}},
    {{{AugmentOp::shear_y, 0.5, 8}, {AugmentOp::translate_y, 0.7, 9}}},
    {{{AugmentOp::autocontrast, 0.5, 0}, {AugmentOp::equalize, 0.9, 0}}},
    {{{AugmentOp::shear_y, 0.2, 7}, {AugmentOp::posterize, 0.3, 7}}},
    {{{AugmentOp::color, 0.4, 3}, {AugmentOp::brightness, 0.6, 7}}},
    {{{AugmentOp::sharpness, 0.3, 9}, {AugmentOp::brightness, 0.7, 9}}},
    {{{AugmentOp::equalize, 0.6, 0}, {AugmentOp::equalize, 0.5, 0}}},
    {{{AugmentOp::contrast, 0.6, 7}, {AugmentOp::sharpness, 0.6, 5}}},
    {{{AugmentOp::color, 0.7, 7}, {AugmentOp::translate_x, 0.5, 8}}},
    {{{AugmentOp::equalize, 0.3, 0}, {AugmentOp::autocontrast, 0.4, 0}}},
    {{{AugmentOp::translate_y, 0.4, 3}, {AugmentOp::sharpness, 0.2, 6}}},
    {{{AugmentOp::brightness, 0.9, 6}, {AugmentOp::color, 0.2, 8}}},
    {{{AugmentOp::solarize, 0.5, 2}, {AugmentOp::invert, 0.0, 0}}},
    {{{AugmentOp::equalize, 0.2, 0}, {AugmentOp::autocontrast, 0.6, 0}}},
    {{{AugmentOp::equalize, 0.2, 0}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::color, 0.9, 9}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::autocontrast, 0.8, 0}, {AugmentOp::solarize, 0.2, 8}}},
    {{{AugmentOp::brightness, 0.1, 3}, {AugmentOp::color, 0.7, 0}}},
    {{{AugmentOp::solarize, 0.4, 5}, {AugmentOp::autocontrast, 0.9, 0}}},
    {{{AugmentOp::translate_y, 0.9, 9}, {AugmentOp::translate_y, 0.7, 9}}},
    {{{AugmentOp::autocontrast, 0.9, 0}, {AugmentOp::solarize, 0.8, 3}}},
    {{{AugmentOp::equalize, 0.8, 0}, {AugmentOp::invert, 0.1, 0}}},
    {{{AugmentOp::translate_y, 0.7, 9}, {AugmentOp::autocontrast, 0.9, 0}}},
}};
inline constexpr std::array<SubPolicy, 25> kSvhnPolicy = {{
    {{{AugmentOp::shear_x, 0.9, 4}, {AugmentOp::invert, 0.2, 0}}},
    {{{AugmentOp::shear_y, 0.9, 8}, {AugmentOp::invert, 0.7, 0}}},
    {{{AugmentOp::equalize, 0.6, 0}, {AugmentOp::solarize, 0.6, 6}}},
    {{{AugmentOp::invert, 0.9, 0}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::equalize, 0.6, 0}, {AugmentOp::rotate, 0.9, 3}}},
    {{{AugmentOp::shear_x, 0.9, 4}, {AugmentOp::autocontrast, 0.8, 0}}},
    {{{AugmentOp::shear_y, 0.9, 8}, {AugmentOp::invert, 0.4, 0}}},
    {{{AugmentOp::shear_y, 0.9, 5}, {AugmentOp::solarize, 0.2, 6}}},
    {{{AugmentOp::invert, 0.9, 0}, {AugmentOp::autocontrast, 0.8, 0}}},
    {{{AugmentOp::equalize, 0.6, 0}, {AugmentOp::rotate, 0.9, 3}}},
    {{{AugmentOp::shear_x, 0.9, 4}, {AugmentOp::solarize, 0.3, 3}}},
    {{{AugmentOp::shear_y, 0.8, 8}, {AugmentOp::invert, 0.7, 0}}},
    {{{AugmentOp::equalize, 0.9, 0}, {AugmentOp::translate_y, 0.6, 6}}},
    {{{AugmentOp::invert, 0.9, 0}, {AugmentOp::equalize, 0.6, 0}}},
    {{{AugmentOp::contrast, 0.3, 3}, {AugmentOp::rotate, 0.8, 4}}},
    {{{AugmentOp::invert, 0.8, 0}, {AugmentOp::translate_y, 0.0, 2}}},
    {{{AugmentOp::shear_y, 0.7, 6}, {AugmentOp::solarize, 0.4, 8}}},
    {{{AugmentOp::invert, 0.6, 0}, {AugmentOp::rotate, 0.8, 4}}},
    {{{AugmentOp::shear_y, 0.3, 7}, {AugmentOp::translate_x, 0.9, 3}}},
    {{{AugmentOp::shear_x, 0.1, 6}, {AugmentOp::invert, 0.6, 0}}},
    {{{AugmentOp::solarize, 0.7, 2}, {AugmentOp::translate_y, 0.6, 7}}},
    {{{AugmentOp::shear_y, 0.8, 4}, {AugmentOp::invert, 0.8, 0}}},
    {{{AugmentOp::shear_x, 0.7, 9}, {AugmentOp::translate_y, 0.8, 3}}},
    {{{AugmentOp::shear_y, 0.8, 5}, {AugmentOp::autocontrast, 0.7, 0}}},
    {{{AugmentOp::shear_x, 0.7, 2}, {AugmentOp::invert, 0.1, 0}}},
}};
// clang-format on

}  // namespace ffkit
