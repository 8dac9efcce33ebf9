// Which GPUs a process is meant to use, as far as it can be told before CUDA is asked.
#pragma once

#include <string>

#include <ffkit/trainer/launch.h>

namespace ffkit {

// `environment` as a process that trains on `device` (TrainOptions::device) sees it: without GPUs
// for cpu, with that one alone for cuda:N. For plan_launch() and bind_to_numa_node(), which go by
// the GPUs that they see.
Environment environment_seeing(const std::string& device,
                               Environment environment = process_environment());

}  // namespace ffkit
