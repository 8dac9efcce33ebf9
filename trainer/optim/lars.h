// Lars: layer-wise adaptive rate scaling (You, Gitman and Ginsburg 2017, "Large Batch Training of
// Convolutional Networks", algorithm 1), for batches of thousands of pictures. For each parameter,
// with the Euclidean norms of it and of its gradient,
//
//   ratio = trust * |w| / (|gradient| + weight_decay * |w|)
//   v = momentum * v + lr * ratio * (gradient + weight_decay * w);  w -= v
//
// Parameters of one dimension (biases, norms) are left out of the scaling and of the decay: their
// ratio is 1 and their weight decay 0. The ratio is also 1 where |w| or |gradient| is 0.
#pragma once

#include <vector>

#include "optim/optimizer.h"

namespace ffkit {

struct LarsOptions {
  double momentum = 0.9;
  double trust = 0.001;  // the coefficient eta of the paper
};

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
