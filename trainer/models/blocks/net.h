// Net: the torch::nn side of a model of pictures.
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "models/blocks/image_model.h"
#include "models/blocks/layers.h"

namespace ffkit {

class Net : public torch::nn::Module {
 public:
  // As ImageModel::forward().
  virtual at::Tensor forward(const at::Tensor& images) = 0;
};

// A net of two chains, "features" and "classifier", with the global average between them.
class ClassifierNet : public Net {
 public:
  at::Tensor forward(const at::Tensor& images) override;

 protected:
  // Called when both chains are whole.
  void register_chains();

  std::shared_ptr<Chain> features_ = std::make_shared<Chain>();
  std::shared_ptr<Chain> classifier_ = std::make_shared<Chain>();
};

std::unique_ptr<ImageModel> make_model_of(std::shared_ptr<Net> net);

}  // namespace ffkit
