#include "merge/merge_rules.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source_kind.h>
#include <ffkit/format/dataset.h>

#include "base/left_out.h"
#include "base/make_error.h"
#include "output/own_names.h"
#include "plan/plan_fingerprint.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

std::string names_difference(const Names& mine, const Names& theirs, const char* what) {
  if (mine.size() != theirs.size()) {
    return fmt::format("there are {} {} here and {} there", mine.size(), what, theirs.size());
  }
  const auto [a, b] = std::ranges::mismatch(mine, theirs);
  if (a == mine.end()) return "";
  return fmt::format("number {1} of the {0} is '{2}' here and '{3}' there", what, a - mine.begin(),
                     *a, *b);
}

Names as_texts(const std::vector<ClassId>& ids) {
  Names texts;
  texts.reserve(ids.size());
  for (const ClassId& id : ids) texts.push_back(to_string(id));
  return texts;
}

// What is the same only for a shard and its copies: the checksum covers the index, and with it
// those of all records.
auto key_of(const ManifestShard& shard) {
  return std::tuple(shard.checksum, shard.file_bytes, shard.num_records, shard.raw_bytes);
}

int64_t num_shared_shards(const Manifest& manifest, const std::vector<ManifestShard>& shards) {
  return std::ranges::count_if(shards, [&](const ManifestShard& wanted) {
    return std::ranges::any_of(manifest.shards, [&](const ManifestShard& shard) {
      return key_of(shard) == key_of(wanted);
    });
  });
}

// The rule of the kind that such splits are of; null where it has none.
const MergeRule* rule_of(const std::string& split, const Schema& schema) {
  for (const SourceKind& kind : source_kinds()) {
    if (kind.merge_rule != nullptr && kind.merge_rule->is_about(split, schema)) {
      return kind.merge_rule;
    }
  }
  return nullptr;
}

bool is_part(const SourceShards& source) {
  return source.manifest.options.contains(kPart);
}

PartRange part_range(const SourceShards& part) {
  const auto found = part.manifest.options.find(kPart);
  if (found == part.manifest.options.end()) {
    refuse_source(part.folder,
                  "this data set is not a part of a conversion, but other given data sets are "
                  "parts; merge the parts first, and then merge the result with this data set");
  }
  const std::optional<PartRange> range = parse_part_range(found->second);
  if (!range) {
    refuse_source(part.folder,
                  fmt::format("the part has no valid list of shards: '{}'", found->second));
  }
  return *range;
}

void erase_part(std::map<std::string, std::string>& options) {
  for (const char* key : {kPart, kPartPlan, kPartBadSamples}) {
    options.erase(key);
  }
}

// What an option is in one part and in the other, for the first that differs; empty when none does.
std::string option_difference(const SourceShards& part, const SourceShards& first) {
  auto options = part.manifest.options;
  auto others = first.manifest.options;
  erase_part(options);
  erase_part(others);
  options.merge(std::map(others));
  for (const auto& [key, unused] : options) {
    const std::string mine = option_in(part.manifest, key);
    const std::string theirs = option_in(first.manifest, key);
    if (mine == theirs) continue;
    return fmt::format("option '{}' is '{}' here and '{}' there", key, mine, theirs);
  }
  return {};
}

// Parts are put together only when one machine would have made them all.
void require_same_conversion(const SourceShards& part, const SourceShards& first) {
  const std::string other = first.folder.string();
  if (const std::string difference = option_difference(part, first); !difference.empty()) {
    refuse_source(part.folder,
                  fmt::format("this data set and {} were converted with different options: {}",
                              other, difference));
  }
  if (part.manifest.created_by != first.manifest.created_by) {
    refuse_source(
        part.folder,
        fmt::format(
            "this part was made by '{}', but {} was made by '{}'; use one program for all parts",
            part.manifest.created_by, other, first.manifest.created_by));
  }
  const std::string plan = option_in(part.manifest, kPartPlan);
  if (plan.empty() || plan != option_in(first.manifest, kPartPlan) ||
      part_range(part).num_shards != part_range(first).num_shards) {
    refuse_source(
        part.folder,
        fmt::format("the source of this data set has other samples, sizes or labels than the "
                    "source of {}; convert one of the two data sets again, from the same source",
                    other));
  }
}

// A part that was to fail at a bad sample has none; of the others, all are to leave bad samples
// out, or all to keep them.
void require_same_bad_samples(const std::vector<SourceShards>& parts) {
  const SourceShards* lenient = nullptr;
  for (const SourceShards& part : parts) {
    const std::string bad_samples = option_in(part.manifest, kPartBadSamples);
    if (bad_samples.empty() || bad_samples == "fail") continue;
    if (lenient == nullptr) lenient = &part;
    if (const std::string other = option_in(lenient->manifest, kPartBadSamples);
        other != bad_samples) {
      refuse_source(part.folder,
                    fmt::format("this data set was converted with {}, but {} was converted with "
                                "{}; convert one of the two data sets again",
                                option_set("bad_samples", bad_samples), lenient->folder.string(),
                                option_set("bad_samples", other)));
    }
  }
}

}  // namespace

void refuse_source(const fs::path& path, const std::string& message) {
  throw error_at(path, ErrorCode::invalid_argument, message);
}

std::string option_in(const Manifest& manifest, const std::string& key, const char* otherwise) {
  const auto found = manifest.options.find(key);
  return found == manifest.options.end() ? otherwise : found->second;
}

std::string class_difference(const Manifest& mine, const Manifest& theirs) {
  std::string classes = names_difference(mine.classes, theirs.classes, "classes");
  if (!classes.empty()) return classes;
  std::string names = names_difference(mine.class_names, theirs.class_names, "class_names");
  return names.empty()
             ? names_difference(as_texts(mine.class_ids), as_texts(theirs.class_ids), "class ids")
             : names;
}

std::vector<std::string> splits_to_join(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw error_at(folder, ErrorCode::not_found, "there is no such folder; give a data set folder");
  }
  if (fs::exists(folder / kManifestFile))
    refuse_source(folder, "the folder is one split of a data set; give the folder of the data set");
  std::vector<std::string> splits = list_splits(folder);
  if (splits.empty()) {
    throw error_at(folder, ErrorCode::not_found,
                   "this is not a data set: none of its folders has a manifest.json");
  }
  for (const std::string& split : splits) {
    if (!fs::exists(folder / split / kManifestFile)) {
      refuse_source(folder,
                    fmt::format("split '{}' has FFRecord v1 files, and ffconvert cannot join such "
                                "files; convert the files with 'ffconvert v1' first",
                                split));
    }
  }
  return splits;
}

void require_same_fields(const PlannedSplit& split, const Manifest& manifest,
                         const fs::path& folder) {
  if (const std::string other = manifest.schema.difference(split.manifest.schema); !other.empty()) {
    refuse_source(folder, fmt::format("the schema of split '{}' differs: {}", split.name, other));
  }
  if (const std::string other = class_difference(manifest, split.manifest); !other.empty()) {
    refuse_source(folder, fmt::format("the classes of split '{}' differ: {}", split.name, other));
  }
}

void require_same_meaning(const PlannedSplit& split, const Manifest& manifest,
                          const fs::path& folder) {
  const MergeRule* const rule = rule_of(split.name, manifest.schema);
  if (rule == nullptr) {
    // Its kind may have one that this build does not know.
    if (const auto kind = manifest.source.find("kind"); kind != manifest.source.end()) {
      errors_only(folder, [&] { require_built("source", kind->second); });
    }
    return;
  }
  for (const char* key : rule->options) {
    const std::string mine = option_in(manifest, key, "unknown");
    const std::string theirs = option_in(split.manifest, key, "unknown");
    if (mine == theirs) continue;
    refuse_source(folder, fmt::format("the {} of split '{}' differ: {} is {} here and {} there; "
                                      "convert one of the two data sets again",
                                      rule->what, split.name, key, mine, theirs));
  }
}

bool is_shared_and_there(const PlannedSplit& split, const Manifest& manifest) {
  const MergeRule* const rule = rule_of(split.name, manifest.schema);
  return rule != nullptr && rule->is_shared(split.name, manifest.schema) &&
         (!split.is_new || !split.sources.empty());
}

bool holds_shards(const PlannedSplit& split, const Manifest& manifest) {
  return !split.is_new &&
         num_shared_shards(split.manifest, manifest.shards) == std::ssize(manifest.shards);
}

void require_new_records(PlannedSplit& split, const Manifest& manifest, const fs::path& folder,
                         const MergeOptions& options) {
  // Of sets whose records refer to each other by number, require_kept_references() says what is
  // wrong: two may well share their maps.
  if (manifest.options.contains(kReferences) || options.duplicates == Duplicates::keep) return;
  const auto require = [&](const Manifest& other, const std::string& name) {
    const int64_t num_shared = num_shared_shards(other, manifest.shards);
    if (num_shared > 0) {
      refuse_source(folder,
                    fmt::format("{} of its {} shards of split '{}' are also in {}, so their "
                                "records would be in the result twice; give every shard only once",
                                num_shared, manifest.shards.size(), split.name, name));
    }
  };
  if (!split.is_new) require(split.manifest, "the destination");
  for (const SourceShards& source : split.sources) {
    require(source.manifest, source.data_set.string());
  }
  // Of the parts of one conversion, join_parts() says whether they fit.
  if (manifest.options.contains(kPart)) return;
  split.contents->require_new(folder / split.name, folder.string(), options);
}

void require_kept_references(const PlannedSplit& split) {
  const auto has = [](const char* key) {
    return [key](const SourceShards& source) { return source.manifest.options.contains(key); };
  };
  const bool is_joined = !split.is_new || split.sources.size() > 1;
  if (is_joined && std::ranges::any_of(split.sources, has(kReferences)) &&
      !(split.is_new && std::ranges::all_of(split.sources, has(kPart)))) {
    refuse_source(split.sources.back().folder,
                  fmt::format("the records of split '{}' refer to each other by number, and a "
                              "merge would change the numbers; merge only parts of one conversion",
                              split.name));
  }
}

void join_parts(PlannedSplit& split) {
  if (!split.is_new) {
    const auto found = std::ranges::find_if(split.sources, is_part);
    if (found == split.sources.end() && !split.manifest.options.contains(kPart)) return;
    refuse_source(found == split.sources.end() ? fs::path(split.name) : found->folder,
                  "the data set is one part of a conversion; join all parts with 'ffconvert "
                  "merge', and then append the result");
  }
  if (std::ranges::none_of(split.sources, is_part)) return;
  std::ranges::sort(split.sources, {},
                    [](const SourceShards& p) { return part_range(p).begin_shard; });
  const SourceShards& first = split.sources.front();
  int64_t next = 0;
  const auto require_up_to = [&](int64_t begin) {
    if (begin > next) {
      refuse_source(first.folder,
                    fmt::format("{} {} to {} of split '{}' are missing; give all parts of "
                                "the conversion",
                                part_range(first).noun(), next, begin - 1, split.name));
    }
  };
  for (const SourceShards& part : split.sources) {
    require_same_conversion(part, first);
    const PartRange range = part_range(part);
    require_up_to(range.begin_shard);
    if (range.begin_shard < next) refuse_source(part.folder, "is a part that appears twice");
    next = range.end_shard;
  }
  require_up_to(part_range(first).num_shards);
  require_same_bad_samples(split.sources);
  split.is_conversion = true;
  split.manifest = first.manifest;
  erase_part(split.manifest.options);
  split.manifest.shards.clear();
  split.is_of_groups = part_range(first).are_groups;
}

}  // namespace ffkit
