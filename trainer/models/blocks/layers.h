// Blocks of torchvision that several families of models share.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/model_registry.h"
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

at::Tensor relu(const at::Tensor& x);

// Two linear layers with GELU between them, as transformers have them: [...,width] -> [...,width].
std::shared_ptr<Chain> transformer_mlp(int64_t width);

// A chain with a shortcut: x + chain(x), with stochastic_depth() of the chain.
struct Residual : torch::nn::Module {
  // The chain is the member `name`. Without `has_shortcut`, it is all.
  Residual(const std::string& name, std::shared_ptr<Chain> chain, bool has_shortcut,
           double drop_probability = 0);
  at::Tensor forward(const at::Tensor& x);

  std::shared_ptr<Chain> chain;
  bool has_shortcut;
  double drop_probability;
};

// The mean over the pixels: [N,C,H,W] -> [N,C].
at::Tensor global_average(const at::Tensor& x);

// `x` with each number dropped with this probability in training; as it is where that is 0 or less.
at::Tensor drop(const at::Tensor& x, double probability, bool is_training);

// Draws what ResNet, MobileNet and EfficientNet begin with: convolutions by kaiming_normal_ over
// the fan out, their biases zero. In the order in which `net` registered them. (Batch norm modules
// already start at weight 1 and bias 0.)
void initialise_convolutions(torch::nn::Module& net);

// Draws a weight by normal_ with this standard deviation; its bias, if any, becomes zero.
void initialise_normal(const at::Tensor& weight, const at::Tensor& bias, double deviation);

// Calls `draw` for each convolution of `net`, in the order in which `net` registered them.
void for_convolutions(torch::nn::Module& net,
                      const std::function<void(torch::nn::Conv2dImpl&)>& draw);

// `channels` rounded to a multiple of 8, by at most 10 % downwards: torchvision's
// _make_divisible(channels, 8).
int64_t round_to_eights(double channels);

// A convolution without bias and with the padding that keeps the size.
torch::nn::Conv2d conv_without_bias(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1,
                                    int64_t groups = 1);

// Net: the torch::nn side of a model of pictures. Its steps are added under torchvision's names.
class Net : public Chain {
 public:
  // As ImageModel::forward(). Runs the steps.
  virtual at::Tensor forward(const at::Tensor& images) { return Chain::forward(images); }
  // The side of the smallest pictures that it takes.
  int64_t min_size() const { return min_size_; }

 protected:
  // Adds the end of most nets: the global average, dropout and a linear layer of this name.
  torch::nn::Linear add_head(const char* name, int64_t channels, const ModelShape& shape);

  int64_t min_size_ = 1;
};

// A net of two chains, most often "features" and "classifier", with averages over equal parts of
// the map between them.
class ClassifierNet : public Net {
 protected:
  // Called when both chains are whole.
  void add_chains(const char* features_name = "features");

  int64_t pooled_side_ = 1;  // of the map of averages; 1: the global average
  std::shared_ptr<Chain> features_ = std::make_shared<Chain>();
  std::shared_ptr<Chain> classifier_ = std::make_shared<Chain>();
};

std::unique_ptr<ImageModel> make_model_of(std::shared_ptr<Net> net);

// Adds a model for each row of `configs`, a table that lives as long as the program: its name is
// `config.name`, and `NetOf(config, shape)` makes its network.
template <typename NetOf, typename Configs>
void add_models(ModelRegistry& registry, const Configs& configs, const char* head,
                std::string (*current_name)(const std::string&) = nullptr) {
  for (const auto& config : configs) {
    ModelEntry entry{.name = config.name, .head = head, .make = [&config](const ModelShape& shape) {
                       return make_model_of(std::make_shared<NetOf>(config, shape));
                     }};
    if (current_name != nullptr) entry.current_name = current_name;
    registry.add(std::move(entry));
  }
}

}  // namespace ffkit
