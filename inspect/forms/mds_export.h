// The form "mds": <split>/index.json and <split>/shard.00000.mds, ..., as MosaicML Streaming's
// MDSWriter makes them, without compression and hashes.
#pragma once

#include <cstdint>
#include <filesystem>

#include "export/export_source.h"
#include "export/exported.h"

namespace ffkit {

// Writes the records into shards below `destination`. A shard has as many samples as fit into
// `shard_bytes`, 1 .. 2^32 - 1, and at least one; it is held in memory. Equal records give equal
// files. Throws what MdsColumns does, Error(invalid_argument) for a split whose name cannot be a
// folder's, Error(io).
ExportedSplit export_mds(const ExportSource& source, const std::filesystem::path& destination,
                         int64_t shard_bytes);

}  // namespace ffkit
