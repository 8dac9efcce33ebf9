// What several splits are as one: Dataset::chain().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

struct JoinedSplits {
  Manifest manifest;
  // Of each source; none: its records have the manifest's schema.
  std::vector<std::optional<FieldMapping>> mappings;
  std::vector<std::string> warnings;
  std::string fingerprint;
};

// `sources` are whole splits. Throws as Dataset::chain().
JoinedSplits join_splits(const std::vector<Dataset>& sources);

}  // namespace ffkit
