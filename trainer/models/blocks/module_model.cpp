#include <ATen/core/grad_mode.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/trainer/module_model.h>

#include "base/make_error.h"
#include "distributed/batch_norm.h"
#include "models/blocks/layers.h"

namespace ffkit {
namespace {

std::vector<NamedTensor> list(const torch::OrderedDict<std::string, at::Tensor>& dict) {
  std::vector<NamedTensor> out;
  for (const auto& item : dict) out.push_back({item.key(), item.value()});
  return out;
}

}  // namespace

ModuleModel::ModuleModel(std::shared_ptr<torch::nn::Module> module) : module_(std::move(module)) {}
ModuleModel::~ModuleModel() = default;

void ModuleModel::set_training(bool on) {
  module_->train(on);
}

void ModuleModel::to(c10::Device device) {
  module_->to(device);
}

void ModuleModel::synchronise_batch_norm(Communicator& communicator) {
  for (const std::shared_ptr<torch::nn::Module>& module : module_->modules()) {
    if (auto* norm = module->as<BatchNormImpl>()) norm->synchronise(communicator);
  }
}

void ModuleModel::use_channels_last() {
  at::NoGradGuard no_grad;
  for (at::Tensor& p : module_->parameters()) {
    // Module::to() knows no memory format.
    // The strides of dimensions of size 1 are the format's too: gradients have them, and c10d
    // compares.
    if (p.dim() == 4) {
      p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast)
                     .as_strided(p.sizes(), c10::get_channels_last_strides_2d(p.sizes())));
    }
  }
}

std::vector<NamedTensor> ModuleModel::parameters() const {
  return list(module_->named_parameters());
}

std::vector<NamedTensor> ModuleModel::buffers() const {
  return list(module_->named_buffers());
}

ImageModel::ImageModel(std::shared_ptr<Net> net) : ModuleModel(net), net_(std::move(net)) {}

at::Tensor ImageModel::forward(const at::Tensor& images) {
  if (const int64_t side = std::min(images.size(2), images.size(3)); side < net_->min_size()) {
    throw error_of(ErrorCode::invalid_argument,
                   "the network needs pictures of at least {} pixels a side, but got pictures of "
                   "{}; give a larger {}",
                   net_->min_size(), side, option_name("image_size"));
  }
  return net_->forward(images);
}

torch::nn::Linear Net::add_head(const char* name, int64_t channels, const ModelShape& shape) {
  add(global_average);
  add([this, dropout = shape.dropout](const at::Tensor& x) {
    return drop(x, dropout, is_training());
  });
  const torch::nn::Linear head(channels, shape.num_classes);
  add(name, head.ptr());
  return head;
}

void ClassifierNet::add_chains(const char* features_name) {
  add(features_name, features_);
  add([side = pooled_side_](const at::Tensor& map) {
    return at::adaptive_avg_pool2d(map, {side, side}).flatten(1);
  });
  add("classifier", classifier_);
}

std::unique_ptr<ImageModel> make_model_of(std::shared_ptr<Net> net) {
  return std::make_unique<ImageModel>(std::move(net));
}

}  // namespace ffkit
