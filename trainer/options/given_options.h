// The options of a run that goes on: those that are given, and the run's own in all else.
#pragma once

#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Whether `names` has the option `name`.
bool is_given(const std::vector<std::string>& names, const std::string& name);

// The options of `run` with those of `options` whose names are `given`. What concerns one machine
// (Option::is_local) and the work folder are those of `options`, but for the data where `options`
// name none. Options of another task, which is given, stay as they are.
TrainOptions with_given(const TrainOptions& run, const TrainOptions& options,
                        const std::vector<std::string>& given);

// The differences of `now` from `run`, "lr 0.01 instead of 0.05" each; nothing of the work folder.
// Both are of one task.
std::vector<std::string> differences(const TrainOptions& run, const TrainOptions& now);

}  // namespace ffkit
