// The export of data sets into a folder tree, in one of several forms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>

#include "export/exported.h"

namespace ffkit {

enum class ExportForm : uint8_t {
  files,        // a record's fields as files; of classification sets as imagefolder
  imagefolder,  // <split>/<class>/<file>; for classification sets alone
  webdataset,   // <split>/<split>-000000.tar, ...
  mds,          // MosaicML Streaming's: <split>/index.json, shard.00000.mds, ...
};
std::string_view to_string(ExportForm form);
// "files", "imagefolder", ...
std::vector<std::string> export_form_names();
// Throws Error(invalid_argument) for another name.
ExportForm parse_export_form(std::string_view name);

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

}  // namespace ffkit
