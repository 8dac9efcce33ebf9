// AdamW: Adam with decoupled weight decay (Loshchilov and Hutter 2019), as torch.optim.AdamW
// without amsgrad. In step t, counted from 1:
//
//   w -= lr * weight_decay * w
//   m = beta1 * m + (1 - beta1) * gradient;  v = beta2 * v + (1 - beta2) * gradient^2
//   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
#pragma once

#include <vector>

#include "optim/optimizer.h"

namespace ffkit {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

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

}  // namespace ffkit
