// What must be so for data sets to be joined: each rule throws Error(invalid_argument) about the
// source in `folder` that breaks it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/format/manifest.h>

#include "merge/merge_plan.h"

namespace ffkit {

[[noreturn]] void refuse_source(const std::filesystem::path& path, const std::string& message);
// The manifest's option `key`; `otherwise` where it has none.
std::string option_in(const Manifest& manifest, const std::string& key, const char* otherwise = "");

// What is not the same in the classes of both; empty where nothing is.
std::string class_difference(const Manifest& mine, const Manifest& theirs);
// The splits of a data set of ffkit's own format.
std::vector<std::string> splits_to_join(const std::filesystem::path& folder);
// Fields and classes are those of the split.
void require_same_fields(const PlannedSplit& split, const Manifest& manifest,
                         const std::filesystem::path& folder);
// What the kind of the records says of its options (MergeRule).
void require_same_meaning(const PlannedSplit& split, const Manifest& manifest,
                          const std::filesystem::path& folder);
// Whether the split is one that all data sets of a kind share, and there already.
bool is_shared_and_there(const PlannedSplit& split, const Manifest& manifest);
// All shards of `manifest` are in the destination: there is nothing to add.
bool holds_shards(const PlannedSplit& split, const Manifest& manifest);
// Nothing is there twice: neither shards nor records of the same files. Adds what is in `folder`.
void require_new_records(PlannedSplit& split, const Manifest& manifest,
                         const std::filesystem::path& folder, const MergeOptions& options);
// Records that refer to each other by number stay what they are, or are parts of one conversion.
void require_kept_references(const PlannedSplit& split);

// Where the sources are parts of a conversion, all of its parts are there, and one
// machine would have made them. Sorts them, and makes the split's manifest that of the conversion.
void join_parts(PlannedSplit& split);

}  // namespace ffkit
