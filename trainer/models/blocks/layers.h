// Blocks of torchvision that several families of models share.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/blocks/image_model.h"

namespace ffkit {

using Function = std::function<at::Tensor(at::Tensor)>;

// Python's torch.nn.Sequential: steps in a row, the modules of which are named by their index.
// (torch::nn::Sequential cannot hold another one: its forward() is a template.)
class Chain : public torch::nn::Module {
 public:
  template <typename Module>
  void add(std::shared_ptr<Module> module) {
    add(std::to_string(steps_.size()), std::move(module));
  }
  // Under another name than its index.
  template <typename Module>
  void add(const std::string& name, std::shared_ptr<Module> module) {
    register_module(name, module);
    steps_.push_back([module](at::Tensor x) { return module->forward(x); });
  }
  template <typename Impl>
  void add(torch::nn::ModuleHolder<Impl> holder) {
    add(holder.ptr());
  }
  // A step without parameters. It counts as an index, as a module does.
  void add(Function function) { steps_.push_back(std::move(function)); }

  at::Tensor forward(at::Tensor x) {
    for (const Function& step : steps_) x = step(std::move(x));
    return x;
  }
  size_t size() const { return steps_.size(); }
  const std::vector<Function>& steps() const { return steps_; }

 private:
  std::vector<Function> steps_;
};

// torchvision.ops.Conv2dNormActivation: convolution without bias and with the padding that keeps
// the size, batch norm, activation.
struct ConvNormOptions {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t groups = 1;
  Function activation;  // none when empty
  double bn_eps = 1e-5;
  double bn_momentum = 0.1;
};
std::shared_ptr<Chain> conv_norm(const ConvNormOptions& options);

// torchvision.ops.SqueezeExcitation: x * scale(fc2(activation(fc1(mean of x over its pixels)))).
struct SqueezeExcitation : torch::nn::Module {
  SqueezeExcitation(int64_t channels, int64_t squeezed_channels, Function activation,
                    Function scale);
  at::Tensor forward(const at::Tensor& x);

  torch::nn::Conv2d fc1{nullptr}, fc2{nullptr};
  Function activation, scale;
};

// torchvision.ops.stochastic_depth in its mode "row": in training, a sample of [N,...] becomes zero
// with `probability`; the others grow by 1 / (1 - probability).
at::Tensor stochastic_depth(const at::Tensor& x, double probability, bool is_training);

// The mean over the pixels: [N,C,H,W] -> [N,C].
at::Tensor global_average(const at::Tensor& x);

// `x` with each number dropped with this probability in training; as it is where that is 0 or less.
at::Tensor drop(const at::Tensor& x, double probability, bool is_training);

// Draws what ResNet, MobileNet and EfficientNet begin with: convolutions by kaiming_normal_ over
// the fan out, their biases zero. In the order in which `net` registered them. (Batch norm modules
// already start at weight 1 and bias 0.)
void initialise_convolutions(torch::nn::Module& net);

// `channels` rounded to a multiple of 8, by at most 10 % downwards: torchvision's
// _make_divisible(channels, 8).
int64_t round_to_eights(int64_t channels);

// A convolution without bias and with the padding that keeps the size.
torch::nn::Conv2d conv_without_bias(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1,
                                    int64_t groups = 1);

// Net: the torch::nn side of a model of pictures.

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
