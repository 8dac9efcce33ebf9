// The folder that code was loaded from, to find libraries beside it.
#pragma once

#include <filesystem>

namespace ffkit {

// The folder of the library or program that holds the function or object at `symbol`, absolute,
// also for a program that was found through PATH; empty for an address outside all of them.
std::filesystem::path library_folder(const void* symbol);

}  // namespace ffkit
