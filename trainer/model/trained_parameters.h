// The parameters of a model that training changes: those whose tensors ask for a gradient. The
// others are frozen: they have no gradient and no state of an optimiser; checkpoints hold them.
#pragma once

#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

// In the order of model.parameters().
std::vector<NamedTensor> trained_parameters(const Model& model);

}  // namespace ffkit
