// The classifiers in Python.
#pragma once

#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

PythonModel classification_python(const TrainOptions& options, int64_t num_classes);

}  // namespace ffkit
