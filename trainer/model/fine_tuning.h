// Fine-tuning: which parameters of a network stay as they are, and how fast the others learn.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ffkit/trainer/model.h>

namespace ffkit {

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

}  // namespace ffkit
