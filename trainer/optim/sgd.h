// Sgd: stochastic gradient descent with momentum, as torch.optim.SGD with dampening 0:
//
//   g = gradient + weight_decay * w
//   v = momentum * v + g
//   w -= lr * (nesterov ? g + momentum * v : v)
#pragma once

#include <vector>

#include "optim/optimizer.h"

namespace ffkit {

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
};

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

}  // namespace ffkit
