// The export of data sets into a folder tree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

struct ExportedSplit {
  std::string split;
  int64_t num_records = 0;
  int64_t num_files = 0;
  int64_t num_bytes = 0;
  int64_t num_skipped = 0;  // records of which nothing was written: all they could give is null
  std::map<int64_t, std::string> renamed;  // see ExportNames
};

// Writes the splits' records into `destination`, which must not exist or be an empty folder,
// reading and writing on all threads; the names do not depend on their number. It appears there
// whole or not at all; see make_tree().
std::vector<ExportedSplit> export_splits(const std::vector<Dataset>& splits,
                                         const std::filesystem::path& destination);

}  // namespace ffkit
