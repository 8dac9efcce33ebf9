// RandomReader of a local file, which is open while the reader is.
#pragma once

#include <filesystem>
#include <memory>

#include "reader/random_reader.h"

namespace ffkit {

// Throws Error(not_found) or Error(io).
std::unique_ptr<RandomReader> open_local_reader(const std::filesystem::path& path);

}  // namespace ffkit
