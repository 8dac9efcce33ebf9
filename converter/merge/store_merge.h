// The merge of the parts of a conversion to one place (output/store_parts.h): by metadata alone.
// The manifests of the parts become one, and their reports; no shard is read, copied or moved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <ffkit/converter/merge.h>
#include <ffkit/format/manifest.h>

namespace ffkit {

// Makes of the parts at `data_set`, an address or a folder, what one machine would have made, and
// removes what they say of themselves. After a kill the same call goes on. Returns the manifests.
// Throws Error(invalid_argument) when parts are missing or unfinished, or another process writes to
// the data set; Error(corrupt) when a shard is missing or has another length than its part says.
std::vector<Manifest> merge_parts(const std::filesystem::path& data_set,
                                  const MergeOptions& options);

struct MergedParts {
  int64_t num_finished = 0;         // of the parts
  bool merged_by_other = false;     // all are, and another process merges them or has done so
  std::vector<Manifest> manifests;  // of the whole, where this call has merged
};
// The same at the end of one of `count` parts, at an address: unless some have not finished, or
// another process merges them. Of several calls at the same time one merges.
MergedParts merge_parts_when_complete(const std::filesystem::path& data_set, int64_t count,
                                      const MergeOptions& options);

}  // namespace ffkit
