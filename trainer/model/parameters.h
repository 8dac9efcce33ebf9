// The parameters of a model: which are frozen and how fast the others learn (fine-tuning), which
// begin at zero, and whether all are numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

// The parameters of a model that training changes: those whose tensors ask for a gradient. The
// others are frozen: they have no gradient and no state of an optimiser; checkpoints hold them.
//
// In the order of model.parameters().
std::vector<NamedTensor> trained_parameters(const Model& model);

// Makes the parameters that `patterns` (TrainOptions::freeze) name frozen. `head`: the last linear
// layer of the network, empty: none. Throws Error(invalid_argument) for a pattern that no parameter
// fits, and when nothing would be left to train.
void freeze_parameters(const std::string& patterns, const Model& model, const std::string& head);

// As TrainOptions has them.
struct TuningRates {
  double lr = 1;
  double lr_head = 0;      // 0: lr
  double layer_decay = 1;  // 1: none
};

// The factor of the learning rate for each parameter by its name, 1 for those that are not listed:
//
//   head:               lr_head / lr
//   layer_decay d < 1:  d ^ (L + 1 - i) of a parameter of layer i
//
// Layers as in BEiT (Bao et al., 2021; layer_decay_optimizer_constructor.py): 0 is what stands
// before the first block, 1 .. L are the L blocks in their order, and L + 1 is what stands behind
// them, the head included. A block is what has a number in the names: "layer1.0", "features.3.1",
// "encoder.layers.encoder_layer_5", "h.7".
std::map<std::string, double> lr_scales(const TuningRates& rates,
                                        const std::vector<std::string>& parameters,
                                        const std::string& head);

// Zero initialisation of residual branches (Goyal et al. 2017, section 5.1), as torchvision's
// zero_init_residual.
//
// Sets the weight of the last batch norm of every residual block of a ResNet to 0, so that each
// block starts as the identity. Blocks are found by torchvision's names: layer<i>.<j>.bn<k>.weight
// with the largest k. Throws Error(invalid_argument) for a model without such names.
void zero_init_residual(const Model& model);

enum class NotFinite {
  nan_alone,  // for buffers: some hold infinity on purpose, such as the mask of an attention
  nan_and_inf,
};

// The name of the first floating-point tensor of which a number is NaN, or infinite; empty: there
// is none.
std::string first_not_finite(const std::vector<NamedTensor>& tensors, NotFinite what);

// ModelAverage: the exponential moving average of a model's weights, which is often better than the
// weights of any one step.
//
//   average = decay * average + (1 - decay) * value
//
// for parameters and for buffers of floats (batch norm's statistics).
//
// Buffers of integers (batch norm's number of batches) are copied. The same as torchvision's
// reference training (use_buffers=True). Not thread-safe. Costs the memory of the model once more.

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
