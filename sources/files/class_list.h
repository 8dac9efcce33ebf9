// Lists of classes that a user gives: a text file with the name of one class a line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

// Throws Error(invalid_argument) for a file without lines, with an empty one, or that is no UTF-8
// text; Error(unsupported) for one of more than 64 MiB.
std::vector<std::string> read_class_list(const std::filesystem::path& path);

}  // namespace ffkit
