// ResNet-18, -34 and -50 (He et al., "Deep Residual Learning for Image Recognition", 2015; the 50
// with the stride in the 3x3 convolution) as torchvision builds them: the same parameter names and
// shapes, modules constructed and initialised in the same order with the same random draws. After
// at::manual_seed(s) the weights equal torchvision's after torch.manual_seed(s).
#pragma once

#include <cstdint>
#include <memory>

#include <ffkit/trainer/train_options.h>

#include "model.h"

namespace ffkit {

// Draws the initial weights from libtorch's default CPU generator. `num_classes` >= 1.
std::unique_ptr<Model> make_resnet(Arch arch, int64_t num_classes);

}  // namespace ffkit
