// The merge of the parts of a conversion to a store (output/store_parts.h): by metadata alone. The
// manifests of the parts become one, and their reports; no shard is read, copied or moved.
#pragma once

#include <filesystem>
#include <vector>

#include <ffkit/converter/merge.h>
#include <ffkit/format/manifest.h>

namespace ffkit {

// Makes of the parts at the address `data_set` what one machine would have made, and removes what
// they say of themselves. After a kill the same call goes on. Returns the manifests. Throws
// Error(invalid_argument) when parts are missing or unfinished, or another process writes to the
// data set; Error(corrupt) when a shard is missing or has another length than its part says.
std::vector<Manifest> merge_parts(const std::filesystem::path& data_set,
                                  const MergeOptions& options);

}  // namespace ffkit
