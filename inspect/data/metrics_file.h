// metrics.jsonl of a work folder of fftrain.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "text/output.h"

namespace ffkit {

struct RunMetrics {
  // The lines as they are, by step. Numbers that are not finite are null there.
  std::vector<Json> train;
  std::vector<Json> validation;
  // What the speed counts, "images", of the key "images_per_second" of training lines; empty while
  // there is none.
  std::string units;
  // Keys of the task's metrics in validation lines but for "loss", in their order.
  std::vector<std::string> metrics;
};

// Throws Error(not_found) when `work_dir` is no folder or has no metrics, Error(invalid_argument)
// when there is no line yet, and Error(corrupt) naming the first line that is not one of fftrain's.
// A last line that is being written is left out.
RunMetrics read_metrics(const std::filesystem::path& work_dir);

}  // namespace ffkit
