// What is asked of a file or a folder, wherever it is: a path, or an address of a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

// All of a small file. Throws Error(unsupported) when it has more than `max_bytes`,
// Error(not_found) or Error(io) otherwise.
std::string read_text_at(const std::filesystem::path& path, int64_t max_bytes);

// Whether there is such an object. Also false where a store may not be asked for it, as it says of
// what is not there to a reader who may not list (S3).
bool has_object(const std::filesystem::path& address);

// The names of the files and folders that are directly in the folder `address`, sorted. None where
// the store has no listings (https).
struct NamesIn {
  std::vector<std::string> files;
  std::vector<std::string> folders;
};
NamesIn names_in_folder(const std::filesystem::path& address);

}  // namespace ffkit
