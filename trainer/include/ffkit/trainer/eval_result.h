// EvalResult: how good a model is on a split.
#pragma once

#include <cstdint>

namespace ffkit {

struct EvalResult {
  int64_t num_images = 0;
  double loss = 0;  // mean cross entropy, without label smoothing
  double top1 = 0;  // share of the pictures, 0 .. 1
  double top5 = 0;  // with fewer than five classes: the share whose class is among all of them, 1
};

}  // namespace ffkit
