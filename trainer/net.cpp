#include "net.h"

#include <ATen/core/grad_mode.h>

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

  void use_channels_last() override {
    at::NoGradGuard no_grad;
    for (at::Tensor& p : net_->parameters()) {
      // Module::to() knows no memory format.
      if (p.dim() == 4) p.set_data(p.contiguous(at::MemoryFormat::ChannelsLast));
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
