// Net: the torch::nn side of a model, and the adapter that makes a Model of it.
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "model/model.h"

namespace ffkit {

class Net : public torch::nn::Module {
 public:
  // As Model::forward().
  virtual at::Tensor forward(const at::Tensor& images) = 0;
};

std::unique_ptr<Model> make_model_of(std::shared_ptr<Net> net);

}  // namespace ffkit
