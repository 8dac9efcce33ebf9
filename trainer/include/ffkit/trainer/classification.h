// The task "classification": the class of a picture. Its options are those of torchvision's and
// FFCV's recipes.
#pragma once

#include <string>
#include <vector>

#include <ffkit/trainer/picture_options.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// All models, by torchvision's names.
std::vector<std::string> arch_names();

struct ClassificationOptions : OwnOptions<ClassificationOptions>, PictureOptions {
  std::string arch = "resnet50";  // one of arch_names()
  std::string train_split = "train";
  std::string val_split = "val";
  // This share of the training split is validated instead of val_split, and not trained on; 0 <=
  // val_share < 1. The records' ids decide, so that the choice stays the same if records are added.
  double val_share = 0;
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
