// Plans of a GroupedSource: one of files, which is all that is in memory, and one of the samples of
// a group while that is open.
//
//   files, shuffled ──▶ groups ─────▶ parts of a conversion: which groups one has
//                          └── a group's samples, shuffled ──▶ shards, numbered from the group's
//                              own first number on
//
// Each group's shards are a function of the group and the options alone: so a group can be made at
// any time, on any machine.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

#include "input/grouped_source.h"
#include "plan/split_plan.h"

namespace ffkit {

// Numbers of shards that each group has: those of group g begin at g times this.
inline constexpr int64_t kShardsOfGroup = 100'000;

// `source` as a GroupedSource; null where it is another one.
const GroupedSource* as_grouped(const Source& source);

// Of the splits of files: SplitPlan::is_of_files, without `listing.samples`. Nothing for a source
// that is no GroupedSource. Opens a group only where a dictionary is to be trained.
std::vector<SplitPlan> plan_groups(const Source& source, const ConvertOptions& options);

// Of the samples of group number `group` of `files`, all of which `source` has in its only split.
// Throws Error(unsupported) for a group of more shards than kShardsOfGroup.
SplitPlan plan_group(const Source& source, const SplitPlan& files, int64_t group,
                     const ConvertOptions& options);

}  // namespace ffkit
