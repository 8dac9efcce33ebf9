// The parts of one conversion (ConvertOptions::part), put together.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include <ffkit/base/option_names.h>

#include "merge/merge_rules.h"
#include "plan/part_range.h"
#include "plan/plan_fingerprint.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

bool is_part(const SourceShards& source) {
  return source.manifest.options.contains(kPart);
}

PartRange part_range(const SourceShards& part) {
  const auto found = part.manifest.options.find(kPart);
  if (found == part.manifest.options.end()) {
    refuse_source(
        part.folder,
        "is no part of a conversion, but others are; merge those first, then merge the result");
  }
  const std::optional<PartRange> range = parse_part_range(found->second);
  if (!range) {
    refuse_source(part.folder,
                  fmt::format("does not say which shards it has: '{}'", found->second));
  }
  return *range;
}

void erase_part(std::map<std::string, std::string>& options) {
  for (const char* key : {kPart, kPartPlan, kPartOnError}) {
    options.erase(key);
  }
}

std::string option_of(const SourceShards& part, const std::string& key) {
  return option_in(part.manifest, key);
}

// What an option is in one part and in the other, for the first that differs; empty when none does.
std::string option_difference(const SourceShards& part, const SourceShards& first) {
  auto options = part.manifest.options;
  auto others = first.manifest.options;
  erase_part(options);
  erase_part(others);
  options.merge(std::map(others));
  for (const auto& [key, unused] : options) {
    const std::string mine = option_of(part, key);
    const std::string theirs = option_of(first, key);
    if (mine != theirs) return fmt::format("{} is '{}' against '{}'", key, mine, theirs);
  }
  return {};
}

// Parts are put together only when one machine would have made them all.
void require_same_conversion(const SourceShards& part, const SourceShards& first) {
  const std::string other = first.folder.string();
  if (const std::string difference = option_difference(part, first); !difference.empty()) {
    refuse_source(part.folder,
                  fmt::format("was converted with other options than {}: {}", other, difference));
  }
  if (part.manifest.created_by != first.manifest.created_by) {
    refuse_source(part.folder,
                  fmt::format("was made by '{}', but {} by '{}'; use one program for all parts",
                              part.manifest.created_by, other, first.manifest.created_by));
  }
  const std::string plan = option_of(part, kPartPlan);
  if (plan.empty() || plan != option_of(first, kPartPlan) ||
      part_range(part).num_shards != part_range(first).num_shards) {
    refuse_source(
        part.folder,
        fmt::format("was converted from another source than {}, with other samples, sizes or "
                    "labels; make one of them again, from the same data",
                    other));
  }
}

// A part that was to fail at a bad sample has none; of the others, all are to leave bad samples
// out, or all to keep them.
void require_same_on_error(const std::vector<SourceShards>& parts) {
  const SourceShards* lenient = nullptr;
  for (const SourceShards& part : parts) {
    const std::string on_error = option_of(part, kPartOnError);
    if (on_error.empty() || on_error == "fail") continue;
    if (lenient == nullptr) lenient = &part;
    if (const std::string other = option_of(*lenient, kPartOnError); other != on_error) {
      refuse_source(part.folder,
                    fmt::format("was converted with {}, but {} with {}; make one of them again",
                                option_set("on_error", on_error), lenient->folder.string(),
                                option_set("on_error", other)));
    }
  }
}

}  // namespace

void join_parts(PlannedSplit& split) {
  if (!split.is_new) {
    const auto found = std::ranges::find_if(split.sources, is_part);
    if (found == split.sources.end() && !split.manifest.options.contains(kPart)) return;
    refuse_source(found == split.sources.end() ? fs::path(split.name) : found->folder,
                  "is a part of a conversion; join all parts with merge, then append the result");
  }
  if (std::ranges::none_of(split.sources, is_part)) return;
  std::ranges::sort(split.sources, {},
                    [](const SourceShards& p) { return part_range(p).begin_shard; });
  const SourceShards& first = split.sources.front();
  int64_t next = 0;
  const auto require_up_to = [&](int64_t begin) {
    if (begin > next) {
      refuse_source(first.folder,
                    fmt::format("{} {} to {} of split '{}' are missing: give all parts of "
                                "the conversion",
                                part_range(first).noun(), next, begin - 1, split.name));
    }
  };
  for (const SourceShards& part : split.sources) {
    require_same_conversion(part, first);
    const PartRange range = part_range(part);
    require_up_to(range.begin_shard);
    if (range.begin_shard < next) refuse_source(part.folder, "is a part that is given twice");
    next = range.end_shard;
  }
  require_up_to(part_range(first).num_shards);
  require_same_on_error(split.sources);
  split.is_conversion = true;
  split.manifest = first.manifest;
  erase_part(split.manifest.options);
  split.manifest.shards.clear();
  split.is_of_groups = part_range(first).are_groups;
  if (!split.is_of_groups) return;
  std::string samples;  // each part knows those of its own groups alone
  for (const SourceShards& part : split.sources) {
    for (const std::string& some : listed_samples(part.manifest)) {
      samples = joined_samples(samples, some);
    }
  }
  if (!samples.empty()) split.manifest.source[kSamples] = samples;
}

}  // namespace ffkit
