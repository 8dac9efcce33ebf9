// Which task a run is of.
#pragma once

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// `options` with the name of their task: the one that they name, or the one that fits the schema of their data, or kFirstTask where there is
// no data to ask. Throws Error(invalid_argument) for a name that is none, and for data that fits no task or several.
TrainOptions with_task(TrainOptions options);

}  // namespace ffkit
