// The export of data sets into a folder tree, in one of several forms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/format/dataset.h>

#include "export/exported.h"

namespace ffkit {

enum class ExportForm : uint8_t {
  files,        // a record's fields as files; of classification sets as imagefolder
  imagefolder,  // <split>/<class>/<file>; for classification sets alone
  webdataset,   // <split>/<split>-000000.tar, ...
  mds,          // MosaicML Streaming's: <split>/index.json, shard.00000.mds, ...
};
template <>
inline constexpr auto kNames<ExportForm> =
    enum_names<ExportForm>("form of an export", {{ExportForm::files, "files"},
                                                 {ExportForm::imagefolder, "imagefolder"},
                                                 {ExportForm::webdataset, "webdataset"},
                                                 {ExportForm::mds, "mds"}});

struct ExportChoice {
  ExportForm form = ExportForm::files;
  // The most bytes of a file that holds many records, unless one record alone has more; 0: 256 MiB
  // for tar files, and 64 MiB for MDS, which holds a shard in memory.
  int64_t shard_bytes = 0;
  std::vector<std::string> fields = {};  // those that are exported; empty: all
};

// Writes the splits' records into `destination`, which must not exist or be an empty folder,
// reading on all threads; the files do not depend on their number. It appears there whole or not at
// all; see make_tree(). Throws Error(invalid_argument) where the form cannot hold the data,
// Error(not_found) for a field that there is not.
Exported export_splits(const std::vector<Dataset>& splits, const std::filesystem::path& destination,
                       const ExportChoice& choice = {});

// The form "webdataset": <split>/<split>-000000.tar, ... with a sample for each record.
// Writes the records into tar files below `destination`. A file has as many samples as fit into
// `shard_bytes`, headers included, and at least one. Equal records give equal files. Throws
// Error(invalid_argument) for a split whose name cannot be a folder's, Error(io).
ExportedSplit export_webdataset(const ExportSource& source,
                                const std::filesystem::path& destination, int64_t shard_bytes);

// The form "mds": <split>/index.json and <split>/shard.00000.mds, ..., as MosaicML Streaming's
// MDSWriter makes them, without compression and hashes.
// Writes the records into shards below `destination`. A shard has as many samples as fit into
// `shard_bytes`, 1 .. 2^32 - 1, and at least one; it is held in memory. Equal records give equal
// files. Throws what MdsColumns does, Error(invalid_argument) for a split whose name cannot be a
// folder's, Error(io).
ExportedSplit export_mds(const ExportSource& source, const std::filesystem::path& destination,
                         int64_t shard_bytes);
// Throws what export_mds() throws of a split that MDS cannot hold, as far as its schema and first
// pictures tell.
void require_mds(const ExportSource& source);

}  // namespace ffkit
