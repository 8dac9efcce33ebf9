#include "model/trained_parameters.h"

namespace ffkit {

std::vector<NamedTensor> trained_parameters(const Model& model) {
  std::vector<NamedTensor> parameters = model.parameters();
  std::erase_if(parameters, [](const NamedTensor& p) { return !p.tensor.requires_grad(); });
  return parameters;
}

}  // namespace ffkit
