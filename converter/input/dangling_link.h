// Links that lead to nothing, such as those to a disk that is not mounted. What looks for files
// passes over them without a word.
#pragma once

#include <filesystem>
#include <string>

namespace ffkit {

// What is wrong with the link at `path` when it leads to nothing: "is a link to '/data/val', which
// is not there; bring that back, or take the link away". Empty for everything else, what is not
// there itself included. Never throws for what the disk says.
std::string dangling_link(const std::filesystem::path& path);

// Throws Error(not_found) with dangling_link() where it says something.
void refuse_dangling_link(const std::filesystem::path& path);

}  // namespace ffkit
