// ModuleModel: a torch::nn::Module as a Model. Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include <ffkit/trainer/model.h>

namespace torch::nn {
class Module;
}

namespace ffkit {

class ModuleModel : public Model {
 public:
  // Keeps `module`. Parameters and buffers have its names.
  explicit ModuleModel(std::shared_ptr<torch::nn::Module> module);
  ~ModuleModel() override;

  void set_training(bool on) override;
  void use_channels_last() override;
  void to(c10::Device device) override;
  // Works for ffkit's own batch norms (models/blocks). Those of torch::nn keep the statistics of
  // their process.
  void synchronise_batch_norm(Communicator& communicator) override;
  std::vector<NamedTensor> parameters() const override;
  std::vector<NamedTensor> buffers() const override;

 private:
  std::shared_ptr<torch::nn::Module> module_;
};

}  // namespace ffkit
