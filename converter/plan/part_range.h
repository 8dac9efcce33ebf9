// PartRange: which shards of a split one part of a conversion has (ConvertOptions::part), as the
// part's manifest says it: "2/8: shards 10 to 19 of 80". Where shards are made by groups of files
// (ConvertOptions::by_files), the same of groups: "2/8: groups 10 to 19 of 80".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ffkit/converter/options.h>

namespace ffkit {

// Of Manifest::options, in a part of a conversion: a PartRange.
inline constexpr const char* kPart = "part";
// The same: plan_fingerprint() of the conversion, equal for parts made from the same data, and how
// bad samples were dealt with.
inline constexpr const char* kPartPlan = "part_plan";
inline constexpr const char* kPartOnError = "part_on_error";
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
