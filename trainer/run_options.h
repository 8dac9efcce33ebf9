// Options of a run as its weights and its checkpoint want them.
#pragma once

#include <filesystem>

#include <ffkit/trainer/train_options.h>

#include "checkpoint/checkpoint.h"
#include "distributed/communicator.h"

namespace ffkit {

// `options` with what the task takes from the weights that a run begins with or evaluates.
// Collective. Only rank 0 needs to see the weights.
TrainOptions with_settings_of(const std::filesystem::path& weights, TrainOptions options,
                              Communicator& communicator);

// Throws Error(invalid_argument) when `checkpoint` is of another task than `options`.
void require_task(const CheckpointInfo& stored, const std::filesystem::path& checkpoint,
                  const TrainOptions& options);

}  // namespace ffkit
