// The transforms of a training run, from its config.toml.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

struct RunTransform {
  std::string text;  // "RandomResizedCrop(224, scale=(0.35, 1)), ColorJitter(0.4, 0.4, 0.4, 0.1)"
  std::vector<std::string> left_out;  // what the run does beside that, a sentence each
};

// What the network of a run of fftrain on pictures with labels sees. An option that the file lacks
// has fftrain's default. Throws Error(not_found) without the file, Error(invalid_argument) for a
// file that is no such run's.
RunTransform transform_of_run(const std::filesystem::path& config);

}  // namespace ffkit
