#include "models/blocks/net.h"

#include <utility>

namespace ffkit {

ImageModel::ImageModel(std::shared_ptr<Net> net) : ModuleModel(net), net_(std::move(net)) {}

at::Tensor ImageModel::forward(const at::Tensor& images) {
  return net_->forward(images);
}

at::Tensor ClassifierNet::forward(const at::Tensor& images) {
  return classifier_->forward(global_average(features_->forward(images)));
}

void ClassifierNet::register_chains() {
  register_module("features", features_);
  register_module("classifier", classifier_);
}

std::unique_ptr<ImageModel> make_model_of(std::shared_ptr<Net> net) {
  return std::make_unique<ImageModel>(std::move(net));
}

}  // namespace ffkit
