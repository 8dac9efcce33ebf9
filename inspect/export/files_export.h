// The form "files": each record as files of its own; see ExportNames.
#pragma once

#include <filesystem>

#include "export/export_source.h"
#include "export/exported.h"

namespace ffkit {

// Writes the records into folders below `destination`. Throws what ExportNames does, Error(io).
ExportedSplit export_files(const ExportSource& source, const std::filesystem::path& destination);

}  // namespace ffkit
