// MATLAB level 5 files, made safe for matio: matio 1.5.23 loops for ever on damaged compressed data and crashes on some files that are
// cut short.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ffkit {

// Returns the file with its compressed elements expanded. Throws Error(corrupt) naming `origin` when it is no such file, is cut
// short, or its compressed data does not match its checksum, and Error(unsupported) when it expands to more than 256 MiB.
std::vector<std::byte> expand_mat_file(std::span<const std::byte> bytes, const std::string& origin);

}  // namespace ffkit
