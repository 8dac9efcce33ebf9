// Validation: how good a model is on a split.
#pragma once

#include <cstdint>

#include <ffkit/trainer/trainer.h>

#include "communicator.h"
#include "data_source.h"
#include "model.h"

namespace ffkit {

// Runs `model` over the whole of `source`, of which every process has its share, in evaluation mode and leaves it in training mode. Every
// sample counts once; the result is that of all processes.
EvalResult validate_model(Model& model, BatchSource& source, Amp amp, Communicator& communicator);

}  // namespace ffkit
