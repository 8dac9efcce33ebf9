// GPT-2 in Python.
#pragma once

#include <cstdint>

#include <ffkit/trainer/task_registry.h>

#include "tasks/gpt2/network/gpt2_config.h"

namespace ffkit {

PythonModel gpt2_python(const Gpt2Config& config, int64_t context);

}  // namespace ffkit
