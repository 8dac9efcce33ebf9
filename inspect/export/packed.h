// What ls and export do with a packed folder (FORMAT.md, "Version 1"): a file tree in one file, not
// a data set.
#pragma once

#include <string>

#include "data/data_sets.h"

namespace ffkit {

// Whether the target is a packed folder. Throws Error(invalid_argument) when it is and options that
// only data sets have are given.
bool is_packed(const Target& target);
// One line a file: its path and size; with --json, objects with path, record and num_bytes.
void list_packed(const Target& target, int64_t first, int64_t limit);
// Writes the tree, empty folders included, into `destination`, which must not exist or be an empty
// folder.
void export_packed(const Target& target, const std::string& destination);

}  // namespace ffkit
