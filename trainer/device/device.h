// The device that a process trains on.
#pragma once

#include <c10/core/Device.h>

#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// The device that options.device names: cpu, cuda (the local rank's GPU), cuda:N, or auto (cuda if
// there is a GPU). Makes a GPU the current one, and sets for the whole process how libtorch chooses
// kernels (options.deterministic). Call it before other threads start. Throws
// Error(invalid_argument) for other names, Error(not_found) if there is no such GPU.
c10::Device prepare_device(const TrainOptions& options, const ProcessPlace& place);

}  // namespace ffkit
