// Observer: sees the tensors inside of a network as they are computed.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace ffkit {

// Called with the published code's name of a tensor, in its shape there. Empty: nobody looks.
using Observer = std::function<void(const std::string& name, const at::Tensor& value)>;

}  // namespace ffkit
