// The samples a step of a run that goes on from a checkpoint, maybe with another number of
// processes.
#pragma once

#include <filesystem>

#include <ffkit/trainer/trainer.h>

#include "checkpoint/checkpoint.h"

namespace ffkit {

// `options` so that their steps take as many samples as those of the run that wrote `checkpoint`:
// as ResumeOptions says. Throws Error(invalid_argument) naming `checkpoint` when they would take
// others.
TrainOptions with_batch_of(const CheckpointInfo& stored, const std::filesystem::path& checkpoint,
                           TrainOptions options, int world_size, const ResumeOptions& resume);

}  // namespace ffkit
