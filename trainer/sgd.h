// Sgd: stochastic gradient descent with momentum, as torch.optim.SGD with dampening 0:
//
//   g = gradient + weight_decay * w;  v = momentum * v + g;  w -= lr * (nesterov ? g + momentum * v
//   : v)
#pragma once

#include <vector>

#include "model.h"

namespace ffkit {

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
};

class Sgd {
 public:
  // Keeps handles of the parameters (f32 or f64), whose memory format must not change afterwards.
  Sgd(std::vector<NamedTensor> parameters, SgdOptions options);

  // Forgets the gradients, so that the next backward pass makes new ones.
  void zero_grad();
  // Updates every parameter from its gradient; parameters without one are left alone.
  void step(double lr);

  // The velocity of each parameter under its name, zero before the first step; empty with momentum
  // 0.
  const std::vector<NamedTensor>& momentum_buffers() const { return momentum_; }

 private:
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> momentum_;
  SgdOptions options_;
};

}  // namespace ffkit
