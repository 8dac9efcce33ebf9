// The form "files": each record as files of its own; see ExportNames.
#pragma once

#include <filesystem>

#include <ffkit/format/dataset.h>

#include "export/exported.h"

namespace ffkit {

// Writes the records into folders below `destination`. Throws what ExportNames does, Error(io).
ExportedSplit export_files(const Dataset& dataset, const std::filesystem::path& destination);

}  // namespace ffkit
