// config.toml: the options of a run as a TOML file that fftrain's --config takes back.
#pragma once

#include <filesystem>
#include <string>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

inline constexpr char kOptionsFileName[] = "config.toml";

// One line an option under its name on fftrain's command line, all but work_dir: `lr = 0.1`,
// `crop-scale = [0.08, 1.0]`. Texts that are empty are left out. A path that CLI11's reader cannot
// take back is written as a comment: one with '#', or with both kinds of quotes.
std::string options_to_toml(const TrainOptions& options);

// Writes it atomically over what was there. Throws Error(io).
void write_options_file(const std::filesystem::path& path, const TrainOptions& options);

}  // namespace ffkit
