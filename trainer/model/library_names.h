// The weights of torchvision's models under the names that timm and transformers have for the same
// networks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

// "torchvision", "timm", "transformers".
std::vector<std::string> library_names();

// Renames the tensors of `model`, a name of the registry. Throws Error(unsupported) where the
// library has no model that computes the same, or none that is known here, and
// Error(invalid_argument) for another library.
void use_names_of(const std::string& library, const std::string& model,
                  std::vector<NamedTensor>& tensors);

// The config.json with which transformers' from_pretrained() finds the network of `model`;
// use_names_of() has taken it.
std::string transformers_config(const std::string& model, int64_t image_size,
                                const std::vector<std::string>& classes);

}  // namespace ffkit
