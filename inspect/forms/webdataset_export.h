// The form "webdataset": <split>/<split>-000000.tar, ... with a sample for each record.
#pragma once

#include <cstdint>
#include <filesystem>

#include "export/export_source.h"
#include "export/exported.h"

namespace ffkit {

// Writes the records into tar files below `destination`. A file has as many samples as fit into
// `shard_bytes`, headers included, and at least one. Equal records give equal files. Throws
// Error(invalid_argument) for a split whose name cannot be a folder's, Error(io).
ExportedSplit export_webdataset(const ExportSource& source,
                                const std::filesystem::path& destination, int64_t shard_bytes);

}  // namespace ffkit
