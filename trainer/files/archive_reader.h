// Reading the files in a zip or a tar, as far as the weights of PyTorch need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/file/file.h"

namespace ffkit {

enum class ArchiveForm { zip, tar };

// Reads the files in the archive `file` one after the other. `target(name, num_bytes)` gives the
// memory for the contents of each: exactly num_bytes, or an empty span to leave the file out. All
// files together claim no more bytes than the archive itself has, or than deflate can make of it,
// so what is allocated for them is bounded. The CRC-32 of a file in a zip is compared unless it is
// 0, which stands for none (torch.serialization.set_crc32_options). Throws
// Error(io), and Error(corrupt) for a file that is no such archive, is cut off or holds contents of
// another length or CRC-32 than it says.
void read_archive(
    const File& file, ArchiveForm form,
    const std::function<std::span<std::byte>(const std::string& name, int64_t num_bytes)>& target);

}  // namespace ffkit
