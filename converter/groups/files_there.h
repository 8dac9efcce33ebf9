// What is in the folder of a split, on a disk or in a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace ffkit {

// The files directly in `folder`, and their lengths; nothing where there is no such folder.
std::map<std::string, int64_t> files_there(const std::filesystem::path& folder);

}  // namespace ffkit
