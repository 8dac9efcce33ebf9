// Brace lists, as shells write many names at once: "shard-{000..640}.tar" is 641 names, "{a,b}.tar"
// is two. A path with them that is itself there is no list. Pure functions but for that.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

// Whether `path` has a list in it, and is no file or folder of this disk.
bool is_brace_list(const std::filesystem::path& path);

// The paths of the list, in its order. Numbers keep the zeros before them. Throws
// Error(invalid_argument) for one that is none ("{5..x}"), or has more than a million names.
std::vector<std::filesystem::path> expand_braces(const std::filesystem::path& path);

// What `file`, one of those found at the source's `path`, is called in the data set: its path below
// it, or its name where `path` is the file or a list.
std::string name_below(const std::filesystem::path& path, const std::filesystem::path& file);

}  // namespace ffkit
