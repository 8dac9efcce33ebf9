// TrainOptions as JSON, for checkpoints and logs.
#pragma once

#include <string>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Every option but work_dir, which is where a checkpoint lies; `data` as an absolute path.
std::string options_to_json(const TrainOptions& options);
// Whether both have the same values, as JSON has them: relative and absolute paths of one folder
// are the same.
bool have_same_values(const Option& a, const Option& b);
// Inverse of options_to_json; work_dir stays empty. Throws Error(corrupt) naming the first option
// that is missing or of another type; `path` is the file the text comes from.
TrainOptions options_from_json(const std::string& text, const std::string& path);

}  // namespace ffkit
