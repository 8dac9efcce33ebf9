// Which GPUs a process is meant to use, as far as that is known before CUDA is asked.
#pragma once

#include <string>

#include <ffkit/trainer/launch.h>

namespace ffkit {

// `environment` as a process that trains on `device` (TrainOptions::device) sees it: cpu has no
// GPU, cuda:N has that one alone. plan_launch() and bind_to_numa_node() go by the GPUs that they
// see.
Environment environment_seeing(const std::string& device,
                               Environment environment = process_environment());

}  // namespace ffkit
