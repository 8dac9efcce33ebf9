// Augmentations: random changes of the pixels, after crop, resize and flip, before the
// normalisation. Plain options with the names, parameters and meaning of torchvision.transforms.v2
// for PIL images.
//
// The random numbers depend only on (seed, epoch, record). Each kind of augmentation has its own
// random streams, so another crop or kind does not change its numbers. For the same parameters, the
// pixels equal Pillow's exactly.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/random.h>

namespace ffkit {

// A user's own augmentation.
class PixelTransform {
 public:
  virtual ~PixelTransform() = default;
  // Changes `image` in place. Many threads call it at once. `random` gives the numbers of this
  // sample, from a stream of this transform's own. If it draws elsewhere, batches depend on the
  // number of threads. Error(corrupt) and Error(unsupported) make a bad sample; Loader::next()
  // throws anything else.
  virtual void apply(const RgbImage& image, CounterRandom& random) const = 0;
};

// A factor is drawn uniformly from [min, max], 0 <= min <= max <= 10^6. A factor of 1 changes
// nothing. One number s means [max(0, 1 - s), 1 + s].
struct FactorRange {
  constexpr FactorRange(double strength) : min(std::max(0.0, 1 - strength)), max(1 + strength) {}
  constexpr FactorRange(double low, double high) : min(low), max(high) {}

  double min;
  double max;
};

// A shift of the hue is drawn uniformly from [min, max], -0.5 <= min <= max <= 0.5. A full turn of
// the colour circle is 1. One number s means [-s, s].
struct HueRange {
  constexpr HueRange(double strength) : min(-strength), max(strength) {}
  constexpr HueRange(double low, double high) : min(low), max(high) {}

  double min;
  double max;
};

// torchvision's ColorJitter: it changes brightness, contrast, saturation and hue in random order. A
// range that can change nothing is left out: {.brightness = 0.4, .hue = {-0.1, 0.2}}
struct ColorJitter {
  FactorRange brightness = 0;
  FactorRange contrast = 0;
  FactorRange saturation = 0;
  HueRange hue = 0;
};

// torchvision's RandAugment: num_ops operations, each drawn uniformly from Identity, ShearX,
// ShearY, TranslateX, TranslateY, Rotate, Brightness, Color, Contrast, Sharpness, Posterize,
// Solarize, AutoContrast and Equalize. All have magnitude number `magnitude` of num_magnitude_bins.
// Shears, translations and rotations take the nearest pixel.
struct RandAugment {
  int num_ops = 2;              // 0 .. 100
  int magnitude = 9;            // 0 .. num_magnitude_bins - 1
  int num_magnitude_bins = 31;  // 2 .. 1000
  RgbColor fill = {0, 0, 0};    // where there is no pixel
};

// torchvision's TrivialAugmentWide: one of the same operations over wider ranges. Its magnitude is
// drawn uniformly from num_magnitude_bins.
struct TrivialAugmentWide {
  int num_magnitude_bins = 31;  // 2 .. 1000
  RgbColor fill = {0, 0, 0};
};

// PhotoMetricDistortion of mmdetection and BEVFormer. It needs a ScalePad, works on its floats
// before the resize, and must be the only augmentation. Each step is done with a probability of
// 1/2, in this order:
//
//   brightness ─▶ contrast ─▶ saturation, hue in HSV ─▶ channels in another order
//                    └ or contrast after the hue, with a probability of 1/2
//
// Values are neither rounded nor cut off to 0 .. 255. HSV is that of cv::cvtColor() on floats,
// which changes colours with values below 0.
struct PhotoMetricDistortion {
  double brightness_delta = 32;  // 0 .. 255: a number of [-delta, delta] is added to all values
  FactorRange contrast = {0.5, 1.5};  // of all channels
  FactorRange saturation = {0.5, 1.5};
  double hue_delta = 18;  // 0 .. 180 degrees: a number of [-delta, delta] is added to the hue
};

// The standard deviation of a blur, in pixels, is drawn uniformly from [min, max]. One number is a
// fixed value.
struct SigmaRange {
  constexpr SigmaRange(double sigma) : min(sigma), max(sigma) {}
  constexpr SigmaRange(double low, double high) : min(low), max(high) {}

  double min;
  double max;
};

// A blur by one of two kernels:
//
//   kernel_size 0    Pillow's ImageFilter.GaussianBlur(sigma), as SimCLR, MoCo v2 and DINO use it:
//                    three box blurs along each axis, to the bit
//   kernel_size 23   torchvision's GaussianBlur(23, sigma): 23 x 23 weights, an odd number; the
//                    picture is mirrored at its edges. A value may differ by 1 where the true one
//                    is within 1/2000 of a half: torchvision sums floats in another order.
struct GaussianBlur {
  SigmaRange sigma = {0.1, 2.0};  // 0 .. 100, with a kernel_size more than 0
  int kernel_size = 0;            // 0, or odd, 1 .. 255
};

// Operations of torchvision.transforms.v2.functional without random numbers. Apply makes
// RandomSolarize and similar ones from them: Apply{.probability = 0.2, .augmentations =
// {Solarize{}}}

// Inverts values from `threshold` on.
struct Solarize {
  double threshold = 128;  // 0 .. 256, which inverts nothing
};

// Keeps the highest bits of each value.
struct Posterize {
  int bits = 4;  // 1 .. 8
};

// Spreads each channel's values so that all of them are about equally frequent.
struct Equalize {};

// Stretches each channel's values to 0 .. 255.
struct AutoContrast {};

// The luma in all three channels: Pillow's convert("L").
struct Grayscale {
  int num_output_channels = 3;  // the only one: ImageOutput::channels = 1 makes one channel
};

struct Invert {};

// A factor of 0 smooths, 1 changes nothing, 2 sharpens as much as 0 smooths.
struct AdjustSharpness {
  double factor = 2;  // 0 .. 10^6
};

// torchvision's AutoAugment: one of the pairs of operations for a data set, each with its
// probability and magnitude. Operations are RandAugment's and Invert.
enum class AutoAugmentPolicy { imagenet, cifar10, svhn };
template <>
inline constexpr auto kNames<AutoAugmentPolicy> =
    enum_names<AutoAugmentPolicy>("policy", {{AutoAugmentPolicy::imagenet, "imagenet"},
                                             {AutoAugmentPolicy::cifar10, "cifar10"},
                                             {AutoAugmentPolicy::svhn, "svhn"}});

struct AutoAugment {
  AutoAugmentPolicy policy = AutoAugmentPolicy::imagenet;
  RgbColor fill = {0, 0, 0};  // where there is no pixel
};

struct Augmentation;

// torchvision's RandomApply: with `probability` all of its augmentations, in order; else none.
struct Apply {
  double probability = 0.5;
  std::vector<Augmentation> augmentations;  // at most 16 of a kind
};

// torchvision's RandomChoice: exactly one of its augmentations, with probabilities proportional to
// the weights; without weights, all are equal.
struct OneOf {
  std::vector<Augmentation> augmentations;  // one at least, at most 16 of a kind
  std::vector<double> weights = {};         // none, or as many: not negative, not all 0
};

using AnyAugmentation = std::variant<ColorJitter, RandAugment, TrivialAugmentWide,
                                     std::shared_ptr<const PixelTransform>, PhotoMetricDistortion,
                                     GaussianBlur, Solarize, Posterize, Equalize, AutoContrast,
                                     Grayscale, Invert, AdjustSharpness, Apply, OneOf, AutoAugment>;

// One of them. Apply and OneOf contain others, up to 16 levels deep.
struct Augmentation : AnyAugmentation {
  using AnyAugmentation::AnyAugmentation;
};

// torchvision's RandomErasing: with `probability`, a rectangle of the normalised sample is
// overwritten. Its area and aspect ratio (log-uniform) are random. After ten rectangles that do not
// fit, the sample stays unchanged.
struct RandomErasing {
  double probability = 0.5;
  double scale_min = 0.02;  // share of the picture's area, 0 < scale_min <= scale_max <= 1
  double scale_max = 0.33;
  double ratio_min = 0.3;  // height / width
  double ratio_max = 3.3;
  float value = 0;  // in units of the output: after normalisation; for u8 0 .. 255
  // Each element gets a number of the standard normal distribution instead of `value`, as
  // torchvision's value="random" does. Not for u8. Box and Muller's method in f32 gives the
  // numbers: the last bit may depend on the C library.
  bool noise = false;
};

}  // namespace ffkit
