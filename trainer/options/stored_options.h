// TrainOptions as a checkpoint stores them, and what becomes of them when its run goes on. `tasks`
// are those that they may be of.
#pragma once

#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// As JSON: every option but work_dir, which is where a checkpoint lies; `data` as an absolute path.
std::string options_to_json(const TrainOptions& options, const TaskRegistry& tasks);
// Inverse of options_to_json; work_dir stays empty. Throws Error(corrupt) naming the first option
// that is missing or of another type; `path` is the file the text comes from.
TrainOptions options_from_json(const std::string& text, const std::string& path,
                               const TaskRegistry& tasks);

// Whether `names` has the option `name`.
bool is_given(const std::vector<std::string>& names, const std::string& name);

enum class TakenFor {
  going_on,
  evaluation,  // or a prediction
};

// The one rule of what is taken over from a stored run. The options are those of `options` whose
// names are `given`, also where that is the default, and those of `run` in all else that
// Option::is_of_training, is_of_data and yields_to leave. What concerns one machine
// (Option::is_local) and the work folder are those of `options`, but for the data where `options`
// name none. Options of another task, which is given, stay as they are.
TrainOptions with_given(const TrainOptions& run, const TrainOptions& options,
                        const std::vector<std::string>& given, const TaskRegistry& tasks,
                        TakenFor purpose = TakenFor::going_on);

// The differences of `now` from `run`, "lr 0.01 instead of 0.05" each; nothing of the work folder.
// Relative and absolute paths of one folder are the same. Both are of one task.
std::vector<std::string> differences(const TrainOptions& run, const TrainOptions& now,
                                     const TaskRegistry& tasks);

}  // namespace ffkit
