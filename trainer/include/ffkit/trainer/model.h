// Model: what training needs of a network, whatever it computes. A task calls the network itself,
// by a type that it knows. Not thread-safe.
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
  double lr_scale = 1;     // its learning rate is that of the schedule times this
  double decay_scale = 1;  // its weight decay is that of the options times this
};

// How the tensors in a file of weights are matched with those of the model.
struct WeightRules {
  std::string name = "model";  // what messages call the model: "resnet50"
  // The linear layer that may be drawn anew when it has other rows; empty: none.
  std::string head = {};
  std::string rows = "rows";     // what messages call the head's rows: "classes"
  std::string choice = "model";  // what chooses the model, for messages: "--arch"
  // Today's name of a tensor in an older file; empty when no name ever changed.
  std::function<std::string(const std::string& name)> current_name = {};
  // Makes the tensors of `file` those of the model, with its names, before they are matched: leaves
  // out what follows from others. Throws Error(unsupported) for a model of another kind. Empty:
  // they are.
  std::function<void(const std::string& file, std::vector<NamedTensor>& tensors)> prepare = {};
};

class Model {
 public:
  virtual ~Model() = default;

  // Training or evaluation: batch norm uses and updates the statistics of the batch when on, the
  // running ones when off; dropout drops when on. On after construction.
  virtual void set_training(bool on) = 0;
  // Puts 4-d parameters into the channels_last memory format; call it before an optimiser holds
  // them.
  virtual void use_channels_last() = 0;
  // Moves parameters and buffers; call it before an optimiser holds them.
  virtual void to(c10::Device device) = 0;
  // Batch norms take their statistics over all processes from now on (BatchNorm::synchronise); a
  // model without any does nothing.
  virtual void synchronise_batch_norm(Communicator& communicator) = 0;

  // In a fixed order, with the names of the Python model of the same kind. Those that do not
  // require a gradient when training begins are frozen: it does not change them.
  virtual std::vector<NamedTensor> parameters() const = 0;
  virtual std::vector<NamedTensor> buffers() const = 0;
};

}  // namespace ffkit
