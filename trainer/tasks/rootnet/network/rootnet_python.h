// RootNet in Python.
#pragma once

#include <cstdint>

#include <ffkit/trainer/task_registry.h>

#include "tasks/rootnet/network/rootnet_network.h"

namespace ffkit {

PythonModel rootnet_python(const RootNetConfig& config, int64_t image_size);

}  // namespace ffkit
