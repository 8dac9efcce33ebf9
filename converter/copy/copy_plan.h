// What a copy of a data set consists of, read from its manifests, and what is at its destination.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ffkit/converter/copy.h>
#include <ffkit/format/manifest.h>

#include "copy/shard_copy.h"

namespace ffkit {

struct CopiedSplit {
  std::string folder;  // below both places; empty where they are the split itself
  Manifest manifest;
  std::string manifest_text;
};

struct CopyPlan {
  std::vector<CopiedSplit> splits;
  std::optional<std::string> report;  // report.jsonl beside the splits
  std::vector<std::string> notes;     // on what is not copied

  // Identifies what is copied, whatever the places.
  std::string fingerprint() const;
};

// Throws as copy_dataset() for what is not finished or no data set with manifests.
CopyPlan plan_copy(const Place& from, const std::vector<std::string>& splits);

// Of a place that is to hold the copy.
struct CopyTarget {
  bool is_finished = false;            // all manifests are there, and equal
  std::vector<std::string> manifests;  // addresses of those that are there, and equal
};
// Throws Error(invalid_argument) when another data set is there, or files of none.
CopyTarget look_at_target(const CopyPlan& plan, const Place& to);

}  // namespace ffkit
