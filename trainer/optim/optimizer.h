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

#include "distributed/communicator.h"

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
  // `tensors` as "<kind>.<parameter>".
  std::vector<NamedTensor> named_state(const std::string& kind, const StateTensors& tensors) const;

 private:
  std::vector<ParameterGroup> groups_;
};

// The optimiser of the options over the parameters of `model` that are trained, which is on its
// device and in its memory format. With options.shard_optimizer its state is divided among the
// processes of `data` (DividedOptimizer), which have the same parameters; null: this one alone.
std::unique_ptr<Optimizer> make_optimizer(const TrainOptions& options, const Model& model,
                                          const ParameterSettings& settings = {},
                                          Communicator* data = nullptr);

// The rules by which parameters are updated: Sgd, AdamW and Lars.

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
};

// Sgd: stochastic gradient descent with momentum, as torch.optim.SGD with dampening 0:
//
//   g = gradient + weight_decay * w
//   v = momentum * v + g
//   w -= lr * (nesterov ? g + momentum * v : v)
class Sgd : public Optimizer {
 public:
  Sgd(std::vector<ParameterGroup> groups, SgdOptions options);

  void step(double lr) override;
  // "momentum.<parameter>": the velocities, zero before the first step; nothing with momentum 0.
  std::vector<NamedTensor> state() const override { return named_state("momentum", velocities_); }

 private:
  StateTensors velocities_;
  SgdOptions options_;
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW
// without amsgrad. In step t, counted from 1:
//
//   w -= lr * weight_decay * w
//   m = beta1 * m + (1 - beta1) * gradient;  v = beta2 * v + (1 - beta2) * gradient^2
//   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
class AdamW : public Optimizer {
 public:
  AdamW(std::vector<ParameterGroup> groups, AdamWOptions options);

  void step(double lr) override;
  // "exp_avg.<parameter>", "exp_avg_sq.<parameter>" and "step", [] f32: the steps done, one count
  // for all parameters.
  std::vector<NamedTensor> state() const override;

 private:
  StateTensors exp_avgs_;
  StateTensors exp_avg_sqs_;
  at::Tensor step_;
  AdamWOptions options_;
};

struct LarsOptions {
  double momentum = 0.9;
  double trust = 0.001;  // the coefficient eta of the paper
};

// Lars: layer-wise adaptive rate scaling (You, Gitman and Ginsburg 2017, "Large Batch Training of
// Convolutional Networks", algorithm 1), for batches of thousands of pictures. For each parameter,
// with the Euclidean norms of it and of its gradient,
//
//   ratio = trust * |w| / (|gradient| + weight_decay * |w|)
//   v = momentum * v + lr * ratio * (gradient + weight_decay * w);  w -= v
//
// Parameters of one dimension (biases, norms) are left out of the scaling and of the decay: their
// ratio is 1 and their weight decay 0. The ratio is also 1 where |w| or |gradient| is 0.
class Lars : public Optimizer {
 public:
  Lars(std::vector<ParameterGroup> groups, LarsOptions options);

  // Does not wait for the device.
  void step(double lr) override;
  // "momentum.<parameter>": the velocities, zero before the first step.
  std::vector<NamedTensor> state() const override { return named_state("momentum", velocities_); }

 private:
  StateTensors velocities_;
  LarsOptions options_;
};

// DividedOptimizer: an optimiser whose state is divided among processes with the same parameters
// (ZeRO-1; Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models", 2020). Each process has the state of some rows of each parameter (row_share), updates
// these, and gives them to the others. The weights after a step are those of the optimiser that is
// not divided, but for the last bit of numbers that the kernel computes as the rest of a vector;
// all processes have the same bits.
//
// Not thread-safe.

// The rows, indices of the first dimension, of a parameter with `rows` of them that process `rank`
// of `size` has. Numbers without dimensions are not divided: all have them.
struct RowShare {
  int64_t begin = 0, count = 0;
};
RowShare row_share(int64_t rows, int rank, int size);

class DividedOptimizer final : public Optimizer {
 public:
  // `make`: the optimiser of such groups, which computes each number from its own gradient alone
  // (not Lars). `communicator` outlives it; all its processes have the same groups.
  DividedOptimizer(
      std::vector<ParameterGroup> groups, Communicator& communicator,
      const std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)>& make);

  // Collective. Gradients must be the same on all processes.
  void step(double lr) override;
  // As the optimiser's that was made, of this process's rows; also of parameters of which it has
  // none.
  std::vector<NamedTensor> state() const override { return rows_->state(); }

 private:
  struct Pair {
    at::Tensor parameter;
    at::Tensor own;  // a view of this process's rows
  };
  // The rows that `rank` has.
  at::Tensor rows_of(const at::Tensor& tensor, int rank) const;
  // Gives all processes all rows of some parameters.
  void exchange(const std::vector<at::Tensor>& parameters);

  Communicator& communicator_;
  std::vector<Pair> pairs_;
  std::unique_ptr<Optimizer> rows_;
};

}  // namespace ffkit
