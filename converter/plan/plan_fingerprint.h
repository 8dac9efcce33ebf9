// What a conversion is about to make, and from what, put down so that another run, or another
// machine, can tell whether it makes the same.
//
//   --resume   the description, one line of JSON in the destination's marker: what differs is named
//   --part     a hash of it without times of modification, in each part's manifests: merge wants
//              them equal
//   finished   what it says of each split, in the split's manifest: --resume compares it with what
//              it would make
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/options.h>

#include "plan/split_plan.h"

namespace ffkit {

// One line of JSON over the splits in `plans`: options, classes, input files, and for each split
// hashes of its samples' names, sizes, contents and times of modification in record order, and of
// its shards. Facts that are absolute paths do not count: where the source lies is not what it is.
std::string describe_plan(const std::vector<SplitPlan>& plans, const ConvertOptions& options);

// How bad samples are dealt with: "skip", or "skip, max_record 1000" where that decides which
// samples are bad as well.
std::string describe_on_error(const ConvertOptions& options);

// What differs between two descriptions, for a sentence: "option seed ('3' then, '4' now)"; empty
// when a conversion described as `found` may go on as `planned`. That is also so when `found` was
// to end at the first bad sample (OnError::fail) and `planned` is not: its shards have none.
std::string plan_difference(std::string_view found, std::string_view planned);

// Of Manifest::source, in a split that was converted: describe_split().
inline constexpr const char* kListing = "listing";
// The same: SampleListing::samples, also of a data set that was transcoded; with _1, _2, ... behind
// it, those of the sets that were merged or appended.
inline constexpr const char* kSamples = "samples";

// What describe_plan() says of one split, without options and facts, which its manifest has: a JSON
// object.
std::string describe_split(const SplitPlan& plan);

// As plan_difference(), of two splits called `name`, described by describe_split(): "the sizes of
// the files of split 'train'".
std::string split_difference(const std::string& name, std::string_view found,
                             std::string_view planned);

// Whether two descriptions, both by describe_plan() or both by describe_split(), differ in nothing
// but times of modification: then the contents decide (output/record_comparison.h). False for
// texts that are no descriptions.
bool differ_in_times_alone(std::string_view found, std::string_view planned);

// 16 hex digits for the plans of all splits, the same on every machine that lists the same data
// with the same options, whatever its part, --on-error and the folder that the source lies in.
std::string plan_fingerprint(const std::vector<SplitPlan>& plans);

}  // namespace ffkit
