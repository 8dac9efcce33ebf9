// Zero initialisation of residual branches (Goyal et al. 2017, section 5.1), as torchvision's
// zero_init_residual.
#pragma once

#include <ffkit/trainer/model.h>

namespace ffkit {

// Sets the weight of the last batch norm of every residual block of a ResNet to 0, so that each
// block starts as the identity. Blocks are found by torchvision's names: layer<i>.<j>.bn<k>.weight
// with the largest k. Throws Error(invalid_argument) for a model without such names.
void zero_init_residual(const Model& model);

}  // namespace ffkit
