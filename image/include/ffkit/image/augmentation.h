// Augmentations: what is done to the pixels of a sample between crop, resize and flip and the
// normalisation. Plain options, named and parametrised as in torchvision.transforms.v2, with its
// semantics on PIL images, which users of ImageFolder get.
//
// The random numbers depend on (seed, epoch, record) alone. Each kind of augmentation draws from
// streams of its own, so adding or removing another kind, or changing the crop, does not change
// them. Pixels equal Pillow's to the bit for the same parameters.
#pragma once

#include <algorithm>
#include <memory>
#include <variant>

#include <ffkit/image/random.h>
#include <ffkit/image/rgb_image.h>

namespace ffkit {

// A user's own augmentation.
class PixelTransform {
 public:
  virtual ~PixelTransform() = default;
  // Changes `image` in place. Called from many threads at once. `random` gives this sample's
  // numbers, from a stream of this transform's own. With any other source of randomness, batches
  // depend on the number of threads. Loader::next() throws what this throws, but an Error(corrupt)
  // or Error(unsupported) is a bad sample.
  virtual void apply(const RgbImage& image, CounterRandom& random) const = 0;
};

// Factor drawn uniformly from [min, max], 0 <= min <= max <= 10^6. Of one number s, the range is
// [max(0, 1 - s), 1 + s]. A factor of 1 changes nothing.
struct FactorRange {
  constexpr FactorRange(double strength) : min(std::max(0.0, 1 - strength)), max(1 + strength) {}
  constexpr FactorRange(double low, double high) : min(low), max(high) {}

  double min;
  double max;
};

// Shift drawn uniformly from [min, max], -0.5 <= min <= max <= 0.5 (a whole turn of the colour
// circle is 1); of one number s, from [-s, s].
struct HueRange {
  constexpr HueRange(double strength) : min(-strength), max(strength) {}
  constexpr HueRange(double low, double high) : min(low), max(high) {}

  double min;
  double max;
};

// torchvision's ColorJitter: brightness, contrast, saturation and hue changed in random order. A
// range that can change nothing is left out. {.brightness = 0.4, .hue = {-0.1, 0.2}}
struct ColorJitter {
  FactorRange brightness = 0;
  FactorRange contrast = 0;
  FactorRange saturation = 0;
  HueRange hue = 0;
};

// torchvision's RandAugment: num_ops operations, each drawn uniformly from Identity, ShearX,
// ShearY, TranslateX, TranslateY, Rotate, Brightness, Color, Contrast, Sharpness, Posterize,
// Solarize, AutoContrast and Equalize, with the magnitude number `magnitude` of num_magnitude_bins.
// Shears, translations and rotations take the nearest pixel.
struct RandAugment {
  int num_ops = 2;              // 0 .. 100
  int magnitude = 9;            // 0 .. num_magnitude_bins - 1
  int num_magnitude_bins = 31;  // 2 .. 1000
  RgbColor fill = {0, 0, 0};    // where there is no pixel
};

// torchvision's TrivialAugmentWide: one of the same operations, with a magnitude drawn uniformly
// from num_magnitude_bins, over wider ranges.
struct TrivialAugmentWide {
  int num_magnitude_bins = 31;  // 2 .. 1000
  RgbColor fill = {0, 0, 0};
};

// PhotoMetricDistortion of mmdetection and BEVFormer, on the floats of a ScalePad, before its
// resize. Only a ScalePad takes it, one of it and no other augmentation. Each step is done with a
// probability of 1/2, in this order:
//
//   brightness ─▶ contrast ─▶ saturation, hue in HSV ─▶ channels in another order
//                    └ or contrast after the hue, with a probability of 1/2
//
// Values are neither rounded nor cut off to 0 .. 255. HSV is that of cv::cvtColor on floats, which
// changes colours below black.
struct PhotoMetricDistortion {
  // 0 .. 255: a number of [-delta, delta] is added to pixels of 0 .. 255.
  double brightness_delta = 32;
  FactorRange contrast = {0.5, 1.5};    // times all channels
  FactorRange saturation = {0.5, 1.5};  // times the saturation
  double hue_delta = 18;  // 0 .. 180 degrees: a number of [-delta, delta] is added to the hue
};

using Augmentation = std::variant<ColorJitter, RandAugment, TrivialAugmentWide,
                                  std::shared_ptr<const PixelTransform>, PhotoMetricDistortion>;

// torchvision's RandomErasing: with `probability` a rectangle of random area and aspect ratio
// (log-uniform) of the finished, normalised sample is overwritten; ten tries, then it is left as it
// is.
struct RandomErasing {
  double probability = 0.5;
  double scale_min = 0.02;  // share of the image's area, 0 < scale_min <= scale_max <= 1
  double scale_max = 0.33;
  double ratio_min = 0.3;  // height / width
  double ratio_max = 3.3;
  float value = 0;  // in units of the output: after normalisation; u8 takes 0 .. 255
  // Instead of `value`, every element from the standard normal distribution (value = "random"). Not
  // for u8. Drawn by Box and Muller's method in f32: the last bit may depend on the C library.
  bool noise = false;
};

}  // namespace ffkit
