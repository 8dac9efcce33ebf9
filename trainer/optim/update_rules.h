// The rules by which parameters are updated: Sgd, AdamW and Lars.
#pragma once

#include <vector>

#include "optim/optimizer.h"

namespace ffkit {

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
  std::vector<NamedTensor> state() const override;

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
  std::vector<NamedTensor> state() const override;

 private:
  StateTensors velocities_;
  LarsOptions options_;
};

}  // namespace ffkit
