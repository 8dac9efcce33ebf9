// The device that a process trains on.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include <ffkit/trainer/launch.h>

namespace ffkit {

// `name`: cpu, cuda (the GPU of the local rank), cuda:N, or auto: cuda where there is a GPU. Makes a GPU the current one. Throws
// Error(invalid_argument) for other names, Error(not_found) when there is no such GPU.
c10::Device resolve_device(const std::string& name, const ProcessPlace& place);

}  // namespace ffkit
