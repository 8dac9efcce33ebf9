// Validation: how good a model is on a split.
#pragma once

#include <cstdint>

#include <ffkit/trainer/trainer.h>

#include "data_source.h"
#include "model.h"

namespace ffkit {

// Runs `model` over the whole of `source` in evaluation mode and leaves it in training mode. Every sample counts once.
EvalResult validate_model(Model& model, DataSource& source);

}  // namespace ffkit
