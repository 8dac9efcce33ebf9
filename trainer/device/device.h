// The device that a process trains on.
#pragma once

#include <c10/core/Device.h>

#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// That of options.device: cpu, cuda (the GPU of the local rank), cuda:N, or auto: cuda where there
// is a GPU. Makes a GPU the current one, and sets for the whole process how libtorch chooses
// kernels (options.deterministic): to be called before other threads are started. Throws
// Error(invalid_argument) for other names, Error(not_found) when there is no such GPU.
c10::Device prepare_device(const TrainOptions& options, const ProcessPlace& place);

}  // namespace ffkit
