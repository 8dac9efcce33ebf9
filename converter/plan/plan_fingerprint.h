// What a conversion is about to make, and from what, put down so that another run, or another
// machine, can tell whether it makes the same.
//
//   --resume   the description, one line of JSON in the destination's marker: what differs is named
//   --part     a hash of it without times of modification, in each part's manifests: merge wants
//              them equal
//   finished   what it says of each split, in the split's manifest: --resume compares it with what
//              it would make
#pragma once

#include <cstdint>
#include <optional>
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
std::string describe_bad_samples(const ConvertOptions& options);

// What differs between two descriptions, for a sentence: "option seed ('3' then, '4' now)"; empty
// when a conversion described as `found` may go on as `planned`. That is also so when `found` was
// to end at the first bad sample (BadSamples::fail) and `planned` is not: its shards have none.
std::string plan_difference(std::string_view found, std::string_view planned);

// Of Manifest::source, in a split that was converted: describe_split().
inline constexpr const char* kListing = "listing";
// Whether a fact of Manifest::source does not say what the records are: its license, where it comes
// from and a note (Attribution), and what earlier programs have put down of the samples.
bool is_beside_the_data(std::string_view fact);

// What describe_plan() says of one split, without options and facts, which its manifest has: a JSON
// object.
std::string describe_split(const SplitPlan& plan);

// As plan_difference(), of two splits called `name`, described by describe_split(): "the sizes of
// the files of split 'train'".
std::string split_difference(const std::string& name, std::string_view found,
                             std::string_view planned);

// Whether two descriptions, both by describe_plan() or both by describe_split(), differ in nothing
// but times of modification: then the contents decide (conversion.h). False for
// texts that are no descriptions.
bool differ_in_times_alone(std::string_view found, std::string_view planned);

// 16 hex digits for the plans of all splits, the same on every machine that lists the same data
// with the same options, whatever its part, --bad-samples and the folder that the source lies in.
std::string plan_fingerprint(const std::vector<SplitPlan>& plans);

// PartRange: which shards of a split one part of a conversion has (ConvertOptions::part), as the
// part's manifest says it: "2/8: shards 10 to 19 of 80". Where shards are made by groups of files
// (ConvertOptions::by_files), the same of groups: "2/8: groups 10 to 19 of 80".

// Of Manifest::options, in a part of a conversion: a PartRange.
inline constexpr const char* kPart = "part";
// The same: plan_fingerprint() of the conversion, equal for parts made from the same data, and how
// bad samples were dealt with.
inline constexpr const char* kPartPlan = "part_plan";
inline constexpr const char* kPartBadSamples = "part_on_error";
// Of a source whose records refer to each other by number: only parts of one conversion may be
// joined.
inline constexpr const char* kReferences = "record_references";

struct PartRange {
  ConvertPart part;
  int64_t begin_shard = 0;
  int64_t end_shard = 0;   // behind the part's last one
  int64_t num_shards = 0;  // of all parts
  bool are_groups = false;

  const char* noun() const { return are_groups ? "groups" : "shards"; }
  std::string text() const;
};

// Inverse of text(); nothing for any other text.
std::optional<PartRange> parse_part_range(std::string_view text);

// Sends `options.note` a sentence where the part was found in the environment.
void note_found_part(const ConvertOptions& options);

}  // namespace ffkit
