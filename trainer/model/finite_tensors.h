// Weights that are numbers.
#pragma once

#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

enum class NotFinite {
  nan_alone,  // for buffers: some hold infinity on purpose, such as the mask of an attention
  nan_and_inf,
};

// The name of the first floating-point tensor of which a number is NaN, or infinite; empty: there
// is none.
std::string first_not_finite(const std::vector<NamedTensor>& tensors, NotFinite what);

}  // namespace ffkit
