// FFRecord v1 data sets: which files belong to a split, and what the meta.pkl beside them says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dataset/dataset_files.h"

namespace ffkit {

// The files of `split` of the v1 data set at `path`, in order: `path`/`split`.ffr, or with an empty
// `split` the folder or file `path` itself. Nothing when there is no such thing.
std::optional<std::vector<std::filesystem::path>> find_v1_files(const std::filesystem::path& path,
                                                                const std::string& split);

// Opens files of which at least one is of version 1. Classes and labels are taken from meta.pkl in
// `files`' folder or the one above, if there is one and it agrees with the records.
DatasetFiles open_v1_dataset(const std::vector<std::filesystem::path>& files,
                             const ShardReaderOptions& options);

}  // namespace ffkit
