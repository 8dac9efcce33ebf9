#include "models/blocks/net.h"

#include <utility>

namespace ffkit {

ImageModel::ImageModel(std::shared_ptr<Net> net) : ModuleModel(net), net_(std::move(net)) {}

at::Tensor ImageModel::forward(const at::Tensor& images) {
  return net_->forward(images);
}

std::unique_ptr<ImageModel> make_model_of(std::shared_ptr<Net> net) {
  return std::make_unique<ImageModel>(std::move(net));
}

}  // namespace ffkit
