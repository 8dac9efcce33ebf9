#include "plan/merge_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include <ffkit/base/version.h>
#include <ffkit/format/dataset.h>
#include <ffkit/text/token_data.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "plan/id_list.h"
#include "plan/part_range.h"
#include "plan/plan_fingerprint.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

[[noreturn]] void refuse_source(const fs::path& path, const std::string& message) {
  throw error_at(path, ErrorCode::invalid_argument, message);
}

std::vector<std::string> splits_of_set(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw error_at(folder, ErrorCode::not_found, "there is no such folder; give a data set folder");
  }
  if (fs::exists(folder / "manifest.json"))
    refuse_source(folder, "is one split; give the folder it lies in");
  std::vector<std::string> splits = list_splits(folder);
  if (splits.empty()) {
    throw error_at(folder, ErrorCode::not_found,
                   "is not a data set: none of its folders has a manifest.json");
  }
  for (const std::string& split : splits) {
    if (!fs::exists(folder / split / "manifest.json")) {
      refuse_source(
          folder, fmt::format("split '{}' is of FFRecord v1, whose files cannot be joined; convert "
                              "them with 'ffconvert v1' first",
                              split));
    }
  }
  return splits;
}

// Opens every shard and compares it with the manifest.
Manifest checked_manifest(const fs::path& folder, const std::string& split) {
  return Dataset::open(folder, split).manifest();
}

std::string names_difference(const Names& mine, const Names& theirs, const char* what) {
  if (mine.size() != theirs.size()) {
    return fmt::format("{} {} against {}", mine.size(), what, theirs.size());
  }
  const auto [a, b] = std::ranges::mismatch(mine, theirs);
  if (a == mine.end()) return "";
  return fmt::format("the {} number {} is '{}' against '{}'", what, a - mine.begin(), *a, *b);
}

Names as_texts(const std::vector<ClassId>& ids) {
  Names texts;
  texts.reserve(ids.size());
  for (const ClassId& id : ids) texts.push_back(to_string(id));
  return texts;
}

std::string class_difference(const Manifest& mine, const Manifest& theirs) {
  std::string classes = names_difference(mine.classes, theirs.classes, "classes");
  if (!classes.empty()) return classes;
  std::string names = names_difference(mine.class_names, theirs.class_names, "class_names");
  return names.empty()
             ? names_difference(as_texts(mine.class_ids), as_texts(theirs.class_ids), "class ids")
             : names;
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

// What the records of a manifest were made from: SampleListing::samples of each conversion in it.
std::vector<std::string> listed_samples(const Manifest& manifest) {
  std::vector<std::string> listed;
  for (const auto& [key, value] : manifest.source) {
    if (key == kSamples || key.starts_with(fmt::format("{}_", kSamples))) listed.push_back(value);
  }
  return listed;
}

bool share_samples(const Manifest& a, const Manifest& b) {
  const std::vector<std::string> listed = listed_samples(a);
  return std::ranges::any_of(listed_samples(b), [&](const std::string& samples) {
    return std::ranges::find(listed, samples) != listed.end();
  });
}

PartRange part_range(const SourceShards& part) {
  const auto found = part.manifest.options.find(MergePlan::kPart);
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
  for (const char* key : {MergePlan::kPart, MergePlan::kPartPlan, MergePlan::kPartOnError}) {
    options.erase(key);
  }
}

// The manifest's option `key`, or nothing.
std::string option_in(const Manifest& manifest, const char* key) {
  const auto found = manifest.options.find(key);
  return found == manifest.options.end() ? "" : found->second;
}
std::string option_of(const SourceShards& part, const char* key) {
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
    const std::string mine = option_of(part, key.c_str());
    const std::string theirs = option_of(first, key.c_str());
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
  const std::string plan = option_of(part, MergePlan::kPartPlan);
  if (plan.empty() || plan != option_of(first, MergePlan::kPartPlan) ||
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
    const std::string on_error = option_of(part, MergePlan::kPartOnError);
    if (on_error.empty() || on_error == "fail") continue;
    if (lenient == nullptr) lenient = &part;
    if (const std::string other = option_of(*lenient, MergePlan::kPartOnError); other != on_error) {
      refuse_source(part.folder,
                    fmt::format("was converted with {}, but {} with {}; make one of them again",
                                option_set("on_error", on_error), lenient->folder.string(),
                                option_set("on_error", other)));
    }
  }
}

bool refers_by_number(const SourceShards& part) {
  return part.manifest.options.contains(MergePlan::kReferences);
}

// Sorts the parts of one conversion, all of which must be there.
void join_parts(PlannedSplit& split) {
  const auto is_part = [](const SourceShards& part) {
    return part.manifest.options.contains(MergePlan::kPart);
  };
  const bool is_joined = !split.is_new || split.sources.size() > 1;
  if (is_joined && std::ranges::any_of(split.sources, refers_by_number) &&
      !(split.is_new && std::ranges::all_of(split.sources, is_part))) {
    refuse_source(
        split.sources.back().folder,
        fmt::format(
            "the records of split '{}' refer to each other by number, which would be others "
            "afterwards: only the parts of one conversion can be joined",
            split.name));
  }
  if (!split.is_new) {
    const auto found = std::ranges::find_if(split.sources, is_part);
    if (found == split.sources.end() && !split.manifest.options.contains(MergePlan::kPart)) return;
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

// Numbers of tokens mean the same in all data sets.
void require_same_tokens(const PlannedSplit& split, const Manifest& manifest,
                         const fs::path& folder) {
  if (!text::is_token_schema(manifest.schema) && split.name != text::kTokenizer) return;
  for (const char* key : {text::kTokenizer, text::kVocabularyOption, text::kEndOfTextOption}) {
    const auto mine = manifest.options.find(key);
    const auto theirs = split.manifest.options.find(key);
    const std::string a = mine == manifest.options.end() ? "unknown" : mine->second;
    const std::string b = theirs == split.manifest.options.end() ? "unknown" : theirs->second;
    if (a == b) continue;
    refuse_source(folder, fmt::format("the tokens of split '{}' are others: {} is {} against {}; "
                                      "convert one of them again",
                                      split.name, key, a, b));
  }
}

// Whether the split is that of the tokenizer, which another source has brought, or the destination
// has.
bool holds_same_tokenizer(const PlannedSplit& split, const Manifest& manifest) {
  return split.name == text::kTokenizer && manifest.schema == text::tokenizer_schema() &&
         (!split.is_new || !split.sources.empty());
}

// Keeps what all agree on.
void intersect(std::map<std::string, std::string>& common,
               const std::map<std::string, std::string>& other) {
  std::erase_if(common, [&](const auto& entry) {
    const auto found = other.find(entry.first);
    return found == other.end() || found->second != entry.second;
  });
}

}  // namespace

Manifest PlannedSplit::joined(const std::vector<std::string>& shard_names) const {
  Manifest result = manifest;
  auto name_of_next = shard_names.begin();
  int number = 1;
  int next = 1;
  for (const SourceShards& source : sources) {
    for (ManifestShard shard : source.manifest.shards) {
      shard.file = *name_of_next++;
      result.shards.push_back(std::move(shard));
    }
    if (is_conversion) continue;  // as if one machine had made it
    if (is_new) intersect(result.options, source.manifest.options);
    if (!is_new && option_of(source, kOnly) != option_in(manifest, kOnly)) {
      result.options.erase(kOnly);  // some of the records are no longer of that choice
    }
    const char* key = is_new ? "path" : "appended";
    while (result.source.contains(fmt::format("{}_{}", key, number))) ++number;
    result.source[fmt::format("{}_{}", key, number)] = utf8_of(source.folder.string());
    for (const std::string& samples : listed_samples(source.manifest)) {
      while (result.source.contains(fmt::format("{}_{}", kSamples, next))) ++next;
      result.source[fmt::format("{}_{}", kSamples, next)] = samples;
    }
  }
  return result;
}

void MergePlan::set_destination(const fs::path& folder) {
  for (const std::string& split : splits_of_set(folder)) {
    Manifest manifest = checked_manifest(folder, split);
    require_same_classes(manifest, folder);
    splits_.push_back({.name = split, .manifest = std::move(manifest), .is_new = false});
  }
  require_new(folder);
}

void MergePlan::add_source(const fs::path& folder) {
  const std::vector<std::string> names = splits_of_set(folder);
  require_new(folder);
  for (const std::string& name : names) {
    Manifest manifest = checked_manifest(folder, name);
    PlannedSplit& split = place_of(name, manifest, folder);
    require_same_tokens(split, manifest, folder);
    if (holds_same_tokenizer(split, manifest)) continue;
    if (!split.is_new &&
        num_shared_shards(split.manifest, manifest.shards) == std::ssize(manifest.shards)) {
      if (note_) {
        note_(
            fmt::format("{}: the shards of split '{}' are in the destination already and left out",
                        folder.string(), name));
      }
      continue;
    }
    // Of sets whose records refer to each other by number, join_parts() says what is wrong: two may
    // well share their maps.
    if (!manifest.options.contains(kReferences)) require_new_shards(split, manifest, folder);
    split.sources.push_back({.data_set = fs::canonical(folder),
                             .folder = fs::canonical(folder / name),
                             .manifest = std::move(manifest)});
  }
}

void MergePlan::add_part(const fs::path& folder, const std::vector<std::string>& splits) {
  for (const std::string& name : splits) {
    Manifest manifest = read_manifest(folder / name / "manifest.json");
    PlannedSplit& split = place_of(name, manifest, folder);
    split.sources.push_back(
        {.data_set = folder, .folder = folder / name, .manifest = std::move(manifest)});
  }
}

PlannedSplit& MergePlan::place_of(const std::string& name, const Manifest& manifest,
                                  const fs::path& folder) {
  require_same_classes(manifest, folder);
  PlannedSplit& split = find_or_add(name, manifest);
  if (const std::string other = manifest.schema.difference(split.manifest.schema); !other.empty()) {
    refuse_source(folder, fmt::format("the schema of split '{}' differs: {}", name, other));
  }
  if (const std::string other = class_difference(manifest, split.manifest); !other.empty()) {
    refuse_source(folder, fmt::format("the classes of split '{}' differ: {}", name, other));
  }
  return split;
}

std::vector<PlannedSplit> MergePlan::splits() const {
  std::vector<PlannedSplit> wanted;
  std::ranges::copy_if(splits_, std::back_inserter(wanted),
                       [](const PlannedSplit& split) { return !split.sources.empty(); });
  for (PlannedSplit& split : wanted) join_parts(split);
  return wanted;
}

void MergePlan::require_new(const fs::path& folder) {
  if (!folders_.insert(fs::canonical(folder)).second) {
    refuse_source(folder, "is given twice; its records would be in the result twice");
  }
}

void MergePlan::require_new_shards(const PlannedSplit& split, const Manifest& manifest,
                                   const fs::path& folder) {
  const auto require = [&](const Manifest& other, const std::string& name) {
    const int64_t num_shared = num_shared_shards(other, manifest.shards);
    if (num_shared > 0) {
      refuse_source(folder,
                    fmt::format("{} of its {} shards of split '{}' are those of {}: their records "
                                "would be in the result twice",
                                num_shared, manifest.shards.size(), split.name, name));
    }
    // Parts of one conversion list the same samples; join_parts() says whether they fit.
    if (manifest.options.contains(kPart) || !share_samples(manifest, other)) return;
    refuse_source(folder,
                  fmt::format("the records of split '{}' are made from the same samples as records "
                              "of {}: each would be in the result twice",
                              split.name, name));
  };
  if (!split.is_new) require(split.manifest, "the destination");
  for (const SourceShards& source : split.sources) {
    require(source.manifest, source.data_set.string());
  }
}

// Labels of all splits mean the same classes.
void MergePlan::require_same_classes(const Manifest& manifest, const fs::path& folder) {
  if (manifest.classes.empty()) return;
  if (classes_from_.classes.empty()) {
    classes_from_ = manifest;
    classes_folder_ = folder;
    return;
  }
  if (const std::string other = class_difference(manifest, classes_from_); !other.empty()) {
    refuse_source(folder,
                  fmt::format("has other classes than {}: {}", classes_folder_.string(), other));
  }
}

PlannedSplit& MergePlan::find_or_add(const std::string& name, const Manifest& first) {
  const auto found = std::ranges::find(splits_, name, &PlannedSplit::name);
  if (found != splits_.end()) return *found;
  Manifest manifest = first;
  manifest.split = name;
  manifest.shards.clear();
  manifest.source = {{"kind", "merge"}};
  manifest.created_by = "ffconvert " FFKIT_VERSION;
  return splits_.emplace_back(PlannedSplit{.name = name, .manifest = std::move(manifest)});
}

}  // namespace ffkit
