// Net: the torch::nn side of a model of pictures.
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "models/blocks/image_model.h"

namespace ffkit {

class Net : public torch::nn::Module {
 public:
  // As ImageModel::forward().
  virtual at::Tensor forward(const at::Tensor& images) = 0;
};

std::unique_ptr<ImageModel> make_model_of(std::shared_ptr<Net> net);

}  // namespace ffkit
