// A conversion that is to go on, and finds the data set finished.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/converter/convert.h>

#include "output/record_comparison.h"
#include "pack/report.h"
#include "plan/split_plan.h"

namespace ffkit {

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

// first_changed_sample(), or first_changed_in_groups() of a plan of files.
std::optional<std::string> first_changed(const Source& source, const SplitPlan& plan,
                                         const std::filesystem::path& folder, MissingShards missing,
                                         const ConvertOptions& options);

}  // namespace ffkit
