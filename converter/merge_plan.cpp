#include "merge_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include <ffkit/format/dataset.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

[[noreturn]] void refuse(const fs::path& path, const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message, {.path = path.string()});
}

std::vector<std::string> splits_of(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw Error(ErrorCode::not_found, "there is no such folder; give a data set folder",
                {.path = folder.string()});
  }
  if (fs::exists(folder / "manifest.json"))
    refuse(folder, "is one split; give the folder it lies in");
  std::vector<std::string> splits = list_splits(folder);
  if (splits.empty()) {
    throw Error(ErrorCode::not_found, "is not a data set: none of its folders has a manifest.json",
                {.path = folder.string()});
  }
  for (const std::string& split : splits) {
    if (!fs::exists(folder / split / "manifest.json")) {
      refuse(folder,
             fmt::format("split '{}' is of FFRecord v1, whose files cannot be joined; convert "
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

std::string difference(const Names& mine, const Names& theirs, const char* what) {
  if (mine.size() != theirs.size()) {
    return fmt::format("{} {} against {}", mine.size(), what, theirs.size());
  }
  const auto [a, b] = std::ranges::mismatch(mine, theirs);
  if (a == mine.end()) return "";
  return fmt::format("the {} number {} is '{}' against '{}'", what, a - mine.begin(), *a, *b);
}

std::string class_difference(const Manifest& mine, const Manifest& theirs) {
  const std::string classes = difference(mine.classes, theirs.classes, "classes");
  return classes.empty() ? difference(mine.class_names, theirs.class_names, "class_names")
                         : classes;
}

bool holds_shards(const Manifest& manifest, const std::vector<ManifestShard>& shards) {
  const auto key = [](const ManifestShard& shard) {
    return std::tuple(shard.catalog_crc32c, shard.file_bytes, shard.num_records);
  };
  return std::ranges::all_of(shards, [&](const ManifestShard& wanted) {
    return std::ranges::any_of(
        manifest.shards, [&](const ManifestShard& shard) { return key(shard) == key(wanted); });
  });
}

// The shards of a conversion's part, from "2/8: shards 10 to 19 of 80".
struct PartRange {
  long long begin = 0;
  long long last = 0;
  long long count = 0;
};

PartRange part_range(const SplitPart& part) {
  PartRange range;
  const auto found = part.manifest.options.find(MergePlan::kPart);
  if (found == part.manifest.options.end()) {
    refuse(part.folder,
           "is no part of a conversion, but others are; merge those first, then merge the result");
  }
  if (std::sscanf(found->second.c_str(), "%*d/%*d: shards %lld to %lld of %lld", &range.begin,
                  &range.last, &range.count) != 3) {
    refuse(part.folder, fmt::format("does not say which shards it has: '{}'", found->second));
  }
  return range;
}

std::map<std::string, std::string> options_without_part(const Manifest& manifest) {
  auto options = manifest.options;
  options.erase(MergePlan::kPart);
  return options;
}

bool refers_by_number(const SplitPart& part) {
  return part.manifest.options.contains(MergePlan::kReferences);
}

// Sorts the parts of one conversion, all of which must be there.
void join_parts(PlannedSplit& split) {
  const auto is_part = [](const SplitPart& part) {
    return part.manifest.options.contains(MergePlan::kPart);
  };
  const bool is_joined = !split.is_new || split.parts.size() > 1;
  if (is_joined && std::ranges::any_of(split.parts, refers_by_number) &&
      !(split.is_new && std::ranges::all_of(split.parts, is_part))) {
    refuse(split.parts.back().folder,
           fmt::format(
               "the records of split '{}' refer to each other by number, which would be others "
               "afterwards: only the parts of one conversion can be joined",
               split.name));
  }
  if (!split.is_new) {
    const auto found = std::ranges::find_if(split.parts, is_part);
    if (found == split.parts.end() && !split.manifest.options.contains(MergePlan::kPart)) return;
    refuse(found == split.parts.end() ? fs::path(split.name) : found->folder,
           "is a part of a conversion; join all parts with merge, then append the result");
  }
  if (std::ranges::none_of(split.parts, is_part)) return;
  std::ranges::sort(split.parts, {}, [](const SplitPart& p) { return part_range(p).begin; });
  const SplitPart& first = split.parts.front();
  long long next = 0;
  const auto require_up_to = [&](long long begin) {
    if (begin > next) {
      refuse(first.folder,
             fmt::format("shards {} to {} of split '{}' are missing: give all parts of "
                         "the conversion",
                         next, begin - 1, split.name));
    }
  };
  for (const SplitPart& part : split.parts) {
    if (options_without_part(part.manifest) != options_without_part(first.manifest) ||
        part.manifest.source != first.manifest.source ||
        part_range(part).count != part_range(first).count) {
      refuse(part.folder,
             fmt::format("was converted with other options, or from another source, than {}",
                         first.folder.string()));
    }
    require_up_to(part_range(part).begin);
    if (part_range(part).begin < next) refuse(part.folder, "is a part that is given twice");
    next = part_range(part).last + 1;
  }
  require_up_to(part_range(first).count);
  split.is_conversion = true;
  split.manifest = first.manifest;
  split.manifest.options.erase(MergePlan::kPart);
  split.manifest.shards.clear();
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
  for (const SplitPart& part : parts) {
    for (ManifestShard shard : part.manifest.shards) {
      shard.file = *name_of_next++;
      result.shards.push_back(std::move(shard));
    }
    if (is_conversion) continue;  // as if one machine had made it
    if (is_new) intersect(result.options, part.manifest.options);
    const char* key = is_new ? "path" : "appended";
    while (result.source.contains(fmt::format("{}_{}", key, number))) ++number;
    result.source[fmt::format("{}_{}", key, number)] = part.folder.string();
  }
  return result;
}

void MergePlan::set_destination(const fs::path& folder) {
  for (const std::string& split : splits_of(folder)) {
    Manifest manifest = checked_manifest(folder, split);
    require_same_classes(manifest, folder);
    splits_.push_back({.name = split, .manifest = std::move(manifest), .is_new = false});
  }
  require_new(folder);
}

void MergePlan::add_source(const fs::path& folder) {
  const std::vector<std::string> names = splits_of(folder);
  require_new(folder);
  for (const std::string& name : names) {
    Manifest manifest = checked_manifest(folder, name);
    require_same_classes(manifest, folder);
    PlannedSplit& split = find_or_add(name, manifest);
    if (const std::string other = manifest.schema.difference(split.manifest.schema);
        !other.empty()) {
      refuse(folder, fmt::format("the schema of split '{}' differs: {}", name, other));
    }
    if (const std::string other = class_difference(manifest, split.manifest); !other.empty()) {
      refuse(folder, fmt::format("the classes of split '{}' differ: {}", name, other));
    }
    if (!split.is_new && holds_shards(split.manifest, manifest.shards)) {
      if (note_) {
        note_(
            fmt::format("{}: the shards of split '{}' are in the destination already and left out",
                        folder.string(), name));
      }
      continue;
    }
    split.parts.push_back(
        {.folder = fs::canonical(folder / name), .manifest = std::move(manifest)});
  }
}

std::vector<PlannedSplit> MergePlan::splits() const {
  std::vector<PlannedSplit> wanted;
  std::ranges::copy_if(splits_, std::back_inserter(wanted),
                       [](const PlannedSplit& split) { return !split.parts.empty(); });
  for (PlannedSplit& split : wanted) join_parts(split);
  return wanted;
}

void MergePlan::require_new(const fs::path& folder) {
  if (!folders_.insert(fs::canonical(folder)).second) {
    refuse(folder, "is given twice; its records would be in the result twice");
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
    refuse(folder, fmt::format("has other classes than {}: {}", classes_folder_.string(), other));
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
