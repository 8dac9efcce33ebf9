// The weights of classes in the loss.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ffkit {

// [C] f32. `choice`: "balanced", or a file: lines of a class and its weight, with spaces, a tab or
// a comma between them, or a JSON object. Balanced weights are n / (C * n_c) of the n_c of all n
// `labels`, as scikit-learn's compute_class_weight; 0 for a class without any. Throws
// Error(invalid_argument) for a file that has not each class once with a weight that is finite and
// 0 or more, or nothing but 0; Error(not_found), Error(io).
at::Tensor class_weights(const std::string& choice, const std::vector<std::string>& classes,
                         const std::vector<int64_t>& labels);

}  // namespace ffkit
