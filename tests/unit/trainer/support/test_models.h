// Models that train in moments: "test_resnet", a ResNet of a basic block a stage and 8 to 64
// channels, and "test_resnet_deeper" with two blocks in its first stage. ResNet-18 takes ten times
// as long, and its checkpoint 90 MB instead of 0.7.
#pragma once

#include <torch/nn/modules/linear.h>

#include <memory>
#include <vector>

#include <ffkit/trainer/model.h>

#include "model/model_registry.h"
#include "models/blocks/layers.h"
#include "models/blocks/resnet_body.h"

namespace ffkit::testing {

inline constexpr const char* kTestResNet = "test_resnet";
inline constexpr const char* kTestResNetDeeper = "test_resnet_deeper";

class TestResNet : public Net {
 public:
  TestResNet(int64_t first_depth, int64_t num_classes)
      : body_(*this,
              {.depths = {first_depth, 1, 1, 1}, .has_bottlenecks = false, .first_width = 8}) {
    fc_ = register_module("fc", torch::nn::Linear(body_.channels(3), num_classes));
    initialise_convolutions(*this);
  }

  at::Tensor forward(const at::Tensor& images) override {
    return fc_(global_average(body_.forward(images).back()));
  }

 private:
  ResNetBody body_;
  torch::nn::Linear fc_{nullptr};
};

// Adds them to ModelRegistry::instance(), once.
inline void add_test_models() {
  static const bool is_added = [] {
    const auto add = [](const char* name, int64_t first_depth) {
      ModelRegistry::instance().add(
          {.name = name, .head = "fc", .make = [first_depth](const ModelShape& shape) {
             return make_model_of(std::make_shared<TestResNet>(first_depth, shape.num_classes));
           }});
    };
    add(kTestResNet, 1);
    add(kTestResNetDeeper, 2);
    return true;
  }();
  (void)is_added;
}

// Turns the parameters and buffers of `model` into float64, in which the processor's kernels agree
// with numbers that were printed elsewhere.
inline void compute_in_float64(const Model& model) {
  std::vector<NamedTensor> tensors = model.parameters();
  for (const NamedTensor& buffer : model.buffers()) tensors.push_back(buffer);
  for (NamedTensor& t : tensors) {
    if (t.tensor.is_floating_point()) t.tensor.set_data(t.tensor.detach().to(at::kDouble));
  }
}

}  // namespace ffkit::testing
