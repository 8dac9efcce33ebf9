// One conversion to a destination that is claimed: plan, shards, manifests, report. And one that is
// to go on, and finds the data set finished.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

#include "output/destination.h"
#include "pack/report.h"
#include "plan/split_plan.h"

namespace ffkit {

// Whether `folder` is an address, and not that of a disk (file://).
bool is_in_store(const std::filesystem::path& folder);

// Makes what `source` and `options` say in `claimed`, and commits it. `place`: where that is, as
// messages name it. Throws Error that says how to go on, and leaves to `claimed` what stays. Where
// claimed.is_finished(), only looks at what is there.
ConvertSummary make_data_set(const Source& source, Destination& claimed,
                             const std::filesystem::path& place, const ConvertOptions& options);

// Adds what is the same for a conversion that was finished before.
void add_facts(ConvertSummary& summary, const Source& source,
               const std::filesystem::path& destination, const ConvertPart& part);

// finished_conversion.cpp

// What a conversion's report counts becomes part of its summary.
void put_into(ConvertSummary& summary, const ReportCounts& counts);

// Whether `folder` holds a data set that is not marked as unfinished.
bool holds_finished_data_set(const std::filesystem::path& folder);

// The summary of the data set in `folder` when it is what `plans` would make: the same splits,
// options, classes and shards, with as many records as there are samples, apart from those that its
// report names, and made from what the source lists today: names, sizes, annotations, and times of
// modification. Where the times alone differ, as after a copy, the source is read and its records
// are compared. Opens every shard. Throws Error(invalid_argument) with what differs, Error(corrupt)
// when a shard is not that of its manifest.
ConvertSummary finished_conversion(const std::filesystem::path& folder, const Source& source,
                                   const std::vector<SplitPlan>& plans,
                                   const ConvertOptions& options);

// Samples of a split that a report says were left out.
int64_t num_left_out(const std::filesystem::path& report, const std::string& split);

// Whether a source still gives the records that were made of it, where only times of modification
// tell another story: a data set that was copied again is the same one.

// Said before it begins, since it takes as long as reading the source does.
inline constexpr const char* kContentsNote =
    "the modification times of the source's files have changed; the contents are "
    "compared";

enum class MissingShards {
  unwritten,  // they are still to be made
  left_out,   // all of their samples were bad
};

// Makes the records of `plan` whose shards lie in `folder` once more, of a plan of files group by
// group, and compares lengths and checksums. Returns what differs, "the contents of 'a.jpg' in the
// split 'train'", by the first sample that is not what it was; empty when all are. Reads the source
// as a conversion does, and of the shards the index alone. Throws as pack_samples() does, and
// Error(corrupt) for a shard that is damaged.
std::string first_changed(const Source& source, const SplitPlan& plan,
                          const std::filesystem::path& folder, MissingShards missing,
                          const ConvertOptions& options);

}  // namespace ffkit
