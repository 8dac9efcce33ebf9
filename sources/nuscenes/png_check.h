// Whether a PNG is whole: without decoding its pixels, which of nuScenes' maps are hundreds of
// millions.
#pragma once

#include <filesystem>
#include <string>

namespace ffkit::nuscenes {

// What is wrong with the file, "" for nothing: its signature, the length of each chunk up to IEND,
// and the CRC of each. Throws Error(io) when it cannot be read.
std::string problem_of_png(const std::filesystem::path& path);

}  // namespace ffkit::nuscenes
