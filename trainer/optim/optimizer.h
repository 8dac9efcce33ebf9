// Optimizer: updates parameters from their gradients. Sgd, AdamW and Lars implement it;
// make_optimizer() picks one.
//
// Not thread-safe. Keeps handles of the parameters (f32 or f64), whose device and memory format
// must not change afterwards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/trainer/model.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Parameters that share a weight decay and a scale of the learning rate.
struct ParameterGroup {
  std::vector<NamedTensor> parameters;
  double weight_decay = 0;
  double lr_scale = 1;
};

using ParameterSettings = std::function<ParameterSetting(const NamedTensor& parameter)>;

// All parameters with `weight_decay`; with `norm_decay` false those of one dimension (biases,
// weights of norms) are a group without any. Where `settings` scale some of them, these are groups
// behind those.
std::vector<ParameterGroup> parameter_groups(std::vector<NamedTensor> parameters,
                                             double weight_decay, bool norm_decay,
                                             const ParameterSettings& settings = {});

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Forgets the gradients, so that the next backward pass makes new ones. Only the handles are
  // reset: gradients that are views of buffers of c10d::Reducer stay with it.
  virtual void zero_grad();
  // Updates every parameter from its gradient; parameters without one are left alone.
  virtual void step(double lr) = 0;
  // What a checkpoint must hold, as "<kind>.<parameter>" and "step", in a fixed order. Shares its
  // storage: copying into the tensors restores the state.
  virtual std::vector<NamedTensor> state() const = 0;

 protected:
  // Tensors beside the parameters, by group and parameter.
  using StateTensors = std::vector<std::vector<at::Tensor>>;

  explicit Optimizer(std::vector<ParameterGroup> groups) : groups_(std::move(groups)) {}

  const std::vector<ParameterGroup>& groups() const { return groups_; }
  // Zeros in the shape and memory format of each parameter.
  StateTensors zeros_like_parameters() const;
  // Appends `tensors` to `out` as "<kind>.<parameter>".
  void append_state(const std::string& kind, const StateTensors& tensors,
                    std::vector<NamedTensor>& out) const;

 private:
  std::vector<ParameterGroup> groups_;
};

// The optimiser of the options over the parameters of `model` that are trained, which is on its
// device and in its memory format. With options.shard_optimizer its state is divided among the
// processes of `data` (DividedOptimizer), which have the same parameters; null: this one alone.
std::unique_ptr<Optimizer> make_optimizer(const TrainOptions& options, const Model& model,
                                          const ParameterSettings& settings = {},
                                          Communicator* data = nullptr);

}  // namespace ffkit
