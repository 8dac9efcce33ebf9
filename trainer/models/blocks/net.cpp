#include "models/blocks/net.h"

#include <ATen/core/grad_mode.h>

#include "distributed/batch_norm.h"

namespace ffkit {
namespace {

std::vector<NamedTensor> list(const torch::OrderedDict<std::string, at::Tensor>& dict) {
  std::vector<NamedTensor> out;
  for (const auto& item : dict) out.push_back({item.key(), item.value()});
  return out;
}

class NetModel : public Model {
 public:
  explicit NetModel(std::shared_ptr<Net> net) : net_(std::move(net)) {}

  at::Tensor forward(const at::Tensor& images) override { return net_->forward(images); }
  void set_training(bool on) override { net_->train(on); }
  void to(c10::Device device) override { net_->to(device); }
  void synchronise_batch_norm(Communicator& communicator) override {
    for (const std::shared_ptr<torch::nn::Module>& module : net_->modules()) {
      if (auto* norm = module->as<BatchNormImpl>()) norm->synchronise(communicator);
    }
  }

  void use_channels_last() override {
    at::NoGradGuard no_grad;
    for (at::Tensor& p : net_->parameters()) {
      // Module::to() knows no memory format.
      // The strides of dimensions of size 1 are the format's too: gradients have them, and c10d compares.
      if (p.dim() == 4) {
        p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast)
                       .as_strided(p.sizes(), c10::get_channels_last_strides_2d(p.sizes())));
      }
    }
  }

  std::vector<NamedTensor> parameters() const override { return list(net_->named_parameters()); }
  std::vector<NamedTensor> buffers() const override { return list(net_->named_buffers()); }

 private:
  std::shared_ptr<Net> net_;
};

}  // namespace

std::unique_ptr<Model> make_model_of(std::shared_ptr<Net> net) {
  return std::make_unique<NetModel>(std::move(net));
}

}  // namespace ffkit
