// Validation: how good a model is on a split.
#pragma once

#include <cstdint>
#include <optional>

#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/train_options.h>

#include "data/data_source.h"
#include "distributed/communicator.h"
#include "model/model.h"

namespace ffkit {

// Runs `model` over the whole of `source`, of which every process has its share, in evaluation mode and leaves it in training mode. Every
// sample counts once; the result is that of all processes. Nothing when one of them was asked to stop: all leave within a batch.
std::optional<EvalResult> validate_model(Model& model, BatchSource& source, Amp amp,
                                         Communicator& communicator);

}  // namespace ffkit
