// The transforms of a training run, from its config.toml.
#pragma once

#include <filesystem>
#include <string>

namespace ffkit {

// What the network of a run of fftrain on pictures with labels sees, as a text of transforms:
// "RandomResizedCrop(224, scale=(0.35, 1)), ColorJitter(0.4, 0.4, 0.4, 0.1)". An option that the
// file lacks has fftrain's default. Mixing of pictures in a batch (MixUp, CutMix) and sizes that
// grow from epoch to epoch are not in it. Throws Error(not_found) without the file,
// Error(invalid_argument) for a file that is no such run's.
std::string transform_of_run(const std::filesystem::path& config);

}  // namespace ffkit
