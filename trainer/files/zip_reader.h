// Reading zip files, as far as the .pth files of PyTorch need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace ffkit {

// Reads the files in the zip `path` one after the other. `target(name, num_bytes)` gives the memory for the contents of each: exactly num_bytes,
// or an empty span to leave the file out. All files together claim no more bytes than the zip itself has, so what is allocated
// for them is bounded. Throws Error(not_found), Error(io), and Error(corrupt) for a file that is no zip, is cut off or holds
// contents of another length or CRC-32 than it says.
void read_zip(
    const std::filesystem::path& path,
    const std::function<std::span<std::byte>(const std::string& name, int64_t num_bytes)>& target);

}  // namespace ffkit
