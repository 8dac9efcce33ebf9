// Whether a source still gives the records that were made of it, where only times of modification
// tell another story: a data set that was copied again is the same one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

#include "plan/split_plan.h"

namespace ffkit {

// Said before it begins, since it takes as long as reading the source does.
inline constexpr const char* kContentsNote =
    "the source's files have other times of modification than they had; their contents are "
    "compared";

enum class MissingShards {
  unwritten,  // they are still to be made
  left_out,   // all of their samples were bad
};

// Makes the records of `plan` whose shards lie in `folder` once more, of a plan of files group by
// group, and compares lengths and checksums. Returns where the first sample that is not what it was
// comes from, nothing when all are. Reads the source as a conversion does, and of the shards the
// index alone. Throws as pack_samples() does, and Error(corrupt) for a shard that is damaged.
std::optional<std::string> first_changed(const Source& source, const SplitPlan& plan,
                                         const std::filesystem::path& folder, MissingShards missing,
                                         const ConvertOptions& options);

}  // namespace ffkit
