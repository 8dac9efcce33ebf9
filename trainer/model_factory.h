// From options to a model that is ready to train.
#pragma once

#include <cstdint>
#include <memory>

#include <ffkit/trainer/train_options.h>

#include "distributed/communicator.h"
#include "model/model.h"

namespace ffkit {

// Sets the number of libtorch's threads and its seed, both for the whole process, then draws the weights of a new model in the
// memory format of the options and puts it onto the device of `communicator`.
std::unique_ptr<Model> make_model(const TrainOptions& options, int64_t num_classes,
                                  const Communicator& communicator);

}  // namespace ffkit
