// ModelAverage: the exponential moving average of a model's weights, which is often better than the
// weights of any one step.
//
//   average = decay * average + (1 - decay) * value
//
// for parameters and for buffers of floats (batch norm's statistics).
//
// Buffers of integers (batch norm's number of batches) are copied. The same as torchvision's
// reference training (use_buffers=True). Not thread-safe. Costs the memory of the model once more.
#pragma once

#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

class ModelAverage {
 public:
  // Starts as a copy of `model`, on its device and in its memory format. 0 <= decay < 1.
  ModelAverage(const Model& model, double decay);

  // Takes the present weights of the model in.
  void update();
  // Forgets the past: the average becomes a copy of the model.
  void reset();
  // Exchanges the values of model and average; a second call undoes it to the bit.
  void swap();
  // Under the model's names, parameters before buffers. Shares its storage.
  const std::vector<NamedTensor>& tensors() const { return averages_; }

 private:
  std::vector<at::Tensor> values_;  // of the model
  std::vector<NamedTensor> averages_;
  double decay_;
};

// The model computes with its average as long as this object lives. `average` may be null: then
// nothing happens.
class AveragedWeights {
 public:
  explicit AveragedWeights(ModelAverage* average) : average_(average) {
    if (average_ != nullptr) average_->swap();
  }
  ~AveragedWeights() {
    if (average_ != nullptr) average_->swap();
  }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  ModelAverage* average_;
};

}  // namespace ffkit
