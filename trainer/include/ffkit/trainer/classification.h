// The task "classification": the class of a picture. Its options are those of torchvision's and
// FFCV's recipes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/image/interpolation.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// All models, by torchvision's names.
std::vector<std::string> arch_names();

enum class AutoAugmentMethod {
  none,
  randaugment,     // torchvision's RandAugment
  trivialaugment,  // torchvision's TrivialAugmentWide
};
std::string_view to_string(AutoAugmentMethod policy);
AutoAugmentMethod parse_auto_augment(std::string_view name);

struct ClassificationOptions : OwnOptions<ClassificationOptions> {
  std::string arch = "resnet50";  // one of arch_names()
  std::string train_split = "train";
  std::string val_split = "val";
  // This share of the training split is validated instead of val_split, and not trained on; 0 <=
  // val_share < 1. The records' ids decide, so that the choice stays the same if records are added.
  double val_share = 0;
  int64_t image_size = 224;  // side of the pictures in training, pixels, >= 1
  // Progressive resizing: pictures have this side until epoch progressive_from (counted from 0),
  // then grow by steps of 32 pixels, and have image_size from epoch progressive_to on. 0:
  // image_size from the beginning.
  int64_t progressive_size = 0;
  int64_t progressive_from = 0;  // 0 <= progressive_from < progressive_to <= epochs
  int64_t progressive_to = 0;
  double crop_scale_min = 0.08;  // share of the area that a training crop has: 0 < min <= max <= 1
  double crop_scale_max = 1.0;
  int64_t eval_size = 0;    // side of the central crop in validation; 0: image_size
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
  // Probability that an input of the head is dropped in training, 0 <= dropout < 1; -1: the model's
  // own.
  double dropout = -1;
  // Weight of each class in the training loss, as in torch's CrossEntropyLoss(weight=...).
  // "balanced": number of samples / (number of classes * samples of the class). Otherwise a file
  // with lines "class weight" or a JSON object. Empty: no weights.
  std::string class_weights;
  // Training draws every class equally often, with replacement.
  bool balance = false;
  // Of training, 0 <= label_smoothing < 1. Validation reports the loss without it.
  double label_smoothing = 0;
  // The last norm of each residual block starts at 0; ResNets only.
  bool zero_init_residual = false;
  bool channels_last = true;  // memory format of pictures and convolutions

  // Their values, or the defaults for 0.
  int64_t resolved_eval_size() const;
  int64_t resolved_eval_resize() const;

  void describe(OptionTable& table, const TrainOptions& general) override;
};

// The task's options in `options`. Without options of a task, `options` get classification's
// defaults.
inline ClassificationOptions& classification(TrainOptions& options) {
  return options.task_options<ClassificationOptions>();
}
inline const ClassificationOptions& classification(const TrainOptions& options) {
  return options.task_options<ClassificationOptions>();
}

}  // namespace ffkit
