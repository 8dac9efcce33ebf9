// MixOptions: MixUp and CutMix, which blend each sample of a finished batch with the one before it
// (the first with the last), labels included. torchvision.transforms.v2.MixUp and CutMix.
#pragma once

namespace ffkit {

// An alpha of 0 leaves its method out. If both are above 0, each batch takes one of the methods
// with probability 1/2, as in torchvision's reference training.
struct MixOptions {
  double mixup_alpha = 0;  // lambda ~ Beta(alpha, alpha); 0.2 in torchvision's recipes
  // 1 - (share of the picture that the box covers) ~ Beta(alpha, alpha), before the box is cut off
  // at the border; 1.0 in torchvision's recipes
  double cutmix_alpha = 0;

  [[nodiscard]] bool is_on() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
};

// Throws Error(invalid_argument) naming the first value that is out of range: 0 .. 1000 each.
void validate(const MixOptions& options);

}  // namespace ffkit
