// The transforms of a training run, from its config.toml.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

struct RunTransform {
  // What the network of a run of fftrain on pictures with labels sees, as a text of transforms
  // (training_transforms()), at the size of the last epochs.
  std::string text;
  // What the run does beside it, a sentence each: pictures of a batch are mixed, sizes grow.
  std::vector<std::string> left_out;
};

// An option that the file lacks has fftrain's default. Throws Error(not_found) without the file,
// Error(invalid_argument) for a file that is no such run's, and for values that fftrain refuses.
RunTransform transform_of_run(const std::filesystem::path& config);

// The same; warns on stderr of what is left out.
std::string shown_transform_of_run(const std::filesystem::path& config);

}  // namespace ffkit
