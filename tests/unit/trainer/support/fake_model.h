// A model of given parameters and buffers, for tests of what works on any model.
#pragma once

#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit::testing {

class FakeModel : public Model {
 public:
  FakeModel(std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers)
      : parameters_(std::move(parameters)), buffers_(std::move(buffers)) {}

  void set_training(bool) override {}
  void use_channels_last() override {}
  void to(c10::Device) override {}
  void synchronise_batch_norm(Communicator&) override {}
  std::vector<NamedTensor> parameters() const override { return parameters_; }
  std::vector<NamedTensor> buffers() const override { return buffers_; }

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
};

}  // namespace ffkit::testing
