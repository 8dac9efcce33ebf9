// ImageModel: a network that gives logits for pictures.
#pragma once

#include <memory>

#include <ffkit/trainer/module_model.h>

namespace ffkit {

class Net;

class ImageModel final : public ModuleModel {
 public:
  explicit ImageModel(std::shared_ptr<Net> net);

  // [N,3,S,S] f32, normalised pictures -> [N,classes] f32 logits.
  at::Tensor forward(const at::Tensor& images);

 private:
  std::shared_ptr<Net> net_;
};

}  // namespace ffkit
