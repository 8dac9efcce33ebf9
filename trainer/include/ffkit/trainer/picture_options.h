// PictureOptions: transforms and augmentation for training on pictures with labels, as in
// torchvision's and FFCV's recipes. A plain value. Needs no libtorch, so that ffinspect can show a
// run's pictures.
#pragma once

#include <cstdint>
#include <string>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/image/image_resizer.h>

namespace ffkit {

enum class AutoAugmentMethod {
  none,
  randaugment,     // torchvision's RandAugment
  trivialaugment,  // torchvision's TrivialAugmentWide
};
template <>
inline constexpr auto kNames<AutoAugmentMethod> = enum_names<AutoAugmentMethod>(
    "auto augmentation", {{AutoAugmentMethod::none, "none"},
                          {AutoAugmentMethod::randaugment, "randaugment"},
                          {AutoAugmentMethod::trivialaugment, "trivialaugment"}});

struct PictureOptions {
  int64_t image_size = 224;  // side of the pictures in training, pixels, >= 1
  // Progressive resizing: pictures have this side until epoch progressive_from (counted from 0),
  // then grow by steps of 32 pixels, and have image_size from epoch progressive_to on. 0:
  // image_size from the beginning.
  int64_t progressive_size = 0;
  int64_t progressive_from = 0;  // 0 <= progressive_from < progressive_to <= epochs
  int64_t progressive_to = 0;
  double crop_scale_min = 0.08;  // share of the area that a training crop has: 0 < min <= max <= 1
  double crop_scale_max = 1.0;
  double hflip = 0.5;     // probability that a training picture is mirrored left and right, 0 .. 1
  int64_t eval_size = 0;  // side of the central crop in validation; 0: image_size
  int64_t eval_resize = 0;  // short side of the picture before that crop; 0: eval_size * 256 / 224
  Interpolation interpolation = Interpolation::bilinear;     // of all resizing
  AutoAugmentMethod auto_augment = AutoAugmentMethod::none;  // of training pictures
  int randaugment_ops = 2;        // randaugment only: operations a picture, 0 .. 100
  int randaugment_magnitude = 9;  // randaugment only: their strength, 0 .. 30
  // Brightness, contrast and saturation of training pictures are multiplied by 1 - x .. 1 + x, x >=
  // 0. Their hue is turned by -jitter_hue .. jitter_hue, 0 <= jitter_hue <= 0.5.
  double jitter_brightness = 0;
  double jitter_contrast = 0;
  double jitter_saturation = 0;
  double jitter_hue = 0;
  // Probability that a rectangle of a training picture is erased, 0 .. 1.
  double random_erasing = 0;
  double mixup_alpha = 0;   // MixUp: weights ~ Beta(alpha, alpha), 0 .. 1000; 0: none
  double cutmix_alpha = 0;  // the same for CutMix; with both, each batch takes one of them

  // Their values, or the defaults for 0.
  int64_t resolved_eval_size() const;
  int64_t resolved_eval_resize() const;
};

// Adds the options to a table; `epochs` is the largest progressive_to.
void describe_pictures(PictureOptions& options, OptionTable& table, int64_t epochs);

// The transforms of training pictures of `size` pixels, as a text for parse_transforms():
// "RandomResizedCrop(224, scale=(0.35, 1), interpolation='bilinear', flip_probability=0.5),
// RandAugment(2, 9)". MixUp and CutMix, which need a batch, are not in it.
std::string training_transforms(const PictureOptions& options, int64_t size);

}  // namespace ffkit
