// Model: the interface of networks for training. A task calls the network itself through its own
// type. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace ffkit {

class Communicator;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  // shares its storage with the owner
};

// How one parameter is trained.
struct ParameterSetting {
  double lr_scale = 1;     // its learning rate is the schedule's times this
  double decay_scale = 1;  // its weight decay is the options' times this
};

// How the tensors of a file of weights are matched with those of the model.
struct WeightRules {
  std::string name = "model";  // what messages call the model: "resnet50"
  // The linear layer that gets new random weights if the file has another number of rows; empty:
  // none.
  std::string head = {};
  std::string rows = "rows";     // what messages call the head's rows: "classes"
  std::string choice = "model";  // what chooses the model, for messages: option_name("arch")
  // The present name of a tensor in an older file; empty: no name ever changed.
  std::function<std::string(const std::string& name)> current_name = {};
  // Converts the tensors of `file` to those of the model, with its names, before they are matched,
  // and drops tensors that follow from others. Throws Error(unsupported) for a model of another
  // kind. May be empty.
  std::function<void(const std::string& file, std::vector<NamedTensor>& tensors)> prepare = {};
};

class Model {
 public:
  virtual ~Model() = default;

  // Training (on, as after construction) or evaluation. In training, batch norm uses the batch's
  // statistics and updates the running ones, and dropout drops. In evaluation, batch norm uses the
  // running statistics.
  virtual void set_training(bool on) = 0;
  // Gives 4-d parameters the memory format channels_last. Call it before an optimiser holds them.
  virtual void use_channels_last() = 0;
  // Moves parameters and buffers. Call it before an optimiser holds them.
  virtual void to(c10::Device device) = 0;
  // From now on, batch norms take their statistics over all processes (BatchNorm::synchronise). A
  // model without any does nothing.
  virtual void synchronise_batch_norm(Communicator& communicator) = 0;

  // In a fixed order, with the names of the same model in Python. Training does not change
  // parameters that require no gradient when it begins: they are frozen.
  virtual std::vector<NamedTensor> parameters() const = 0;
  virtual std::vector<NamedTensor> buffers() const = 0;
};

}  // namespace ffkit
