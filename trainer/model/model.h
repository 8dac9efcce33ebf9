// Model: what training needs of a network. Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace ffkit {

class Communicator;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  // shares its storage with the owner
};

class Model {
 public:
  virtual ~Model() = default;

  // [N,3,S,S] f32, normalised pictures -> [N,classes] f32 logits.
  virtual at::Tensor forward(const at::Tensor& images) = 0;
  // Batch norm uses and updates the statistics of the batch when on, the running ones when off. On
  // after construction.
  virtual void set_training(bool on) = 0;
  // Puts 4-d parameters into the channels_last memory format; call it before an optimiser holds
  // them.
  virtual void use_channels_last() = 0;
  // Moves parameters and buffers; call it before an optimiser holds them.
  virtual void to(c10::Device device) = 0;
  // Batch norms take their statistics over all processes from now on (BatchNorm::synchronise); a model without any does nothing.
  virtual void synchronise_batch_norm(Communicator& communicator) = 0;

  // In a fixed order, with the names of the Python model of the same kind.
  virtual std::vector<NamedTensor> parameters() const = 0;
  virtual std::vector<NamedTensor> buffers() const = 0;
};

}  // namespace ffkit
