#include "merge/merge_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/base/version.h>
#include <ffkit/format/dataset.h>

#include "base/printable.h"
#include "merge/merge_rules.h"
#include "output/own_names.h"
#include "pack/report.h"
#include "plan/chosen_source.h"
#include "plan/plan_fingerprint.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Opens every shard and compares it with the manifest.
Manifest checked_manifest(const fs::path& folder, const std::string& split) {
  return Dataset::open(folder, split).manifest();
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
    if (!is_new && option_in(source.manifest, kOnly) != option_in(manifest, kOnly)) {
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

Manifest PlannedSplit::joined() const {
  std::vector<std::string> names;
  for (const SourceShards& source : sources) {
    for (const ManifestShard& shard : source.manifest.shards) names.push_back(shard.file);
  }
  return joined(names);
}

void PlannedSplit::read_reports(const std::function<void(std::string_view)>& use) const {
  for (const SourceShards& source : sources) {
    for_report_lines(read_report(source.data_set / kReportFile),
                     [&](const ReportLine& line, std::string_view text) {
                       if (line.split == name) use(text);
                     });
  }
}

void MergePlan::set_destination(const fs::path& folder) {
  for (const std::string& split : splits_to_join(folder)) {
    Manifest manifest = checked_manifest(folder, split);
    require_same_classes(manifest, folder);
    splits_.push_back({.name = split, .manifest = std::move(manifest), .is_new = false});
  }
  require_new(folder);
}

void MergePlan::add_source(const fs::path& folder) {
  const std::vector<std::string> names = splits_to_join(folder);
  require_new(folder);
  for (const std::string& name : names) {
    Manifest manifest = checked_manifest(folder, name);
    PlannedSplit& split = place_of(name, manifest, folder);
    require_same_meaning(split, manifest, folder);
    if (is_shared_and_there(split, manifest)) continue;
    if (holds_shards(split, manifest)) {
      if (note_) {
        note_(
            fmt::format("{}: the shards of split '{}' are in the destination already and left out",
                        folder.string(), name));
      }
      continue;
    }
    require_new_records(split, manifest, folder);
    split.sources.push_back({.data_set = fs::canonical(folder),
                             .folder = fs::canonical(folder / name),
                             .manifest = std::move(manifest)});
  }
}

void MergePlan::add_part(const fs::path& folder, const std::vector<std::string>& splits) {
  for (const std::string& name : splits) {
    Manifest manifest = read_manifest(folder / name / kManifestFile);
    PlannedSplit& split = place_of(name, manifest, folder);
    split.sources.push_back(
        {.data_set = folder, .folder = folder / name, .manifest = std::move(manifest)});
  }
}

PlannedSplit& MergePlan::place_of(const std::string& name, const Manifest& manifest,
                                  const fs::path& folder) {
  require_same_classes(manifest, folder);
  PlannedSplit& split = find_or_add(name, manifest);
  require_same_fields(split, manifest, folder);
  return split;
}

std::vector<PlannedSplit> MergePlan::splits() const {
  std::vector<PlannedSplit> wanted;
  std::ranges::copy_if(splits_, std::back_inserter(wanted),
                       [](const PlannedSplit& split) { return !split.sources.empty(); });
  for (PlannedSplit& split : wanted) {
    require_kept_references(split);
    join_parts(split);
  }
  return wanted;
}

void MergePlan::require_new(const fs::path& folder) {
  if (!folders_.insert(fs::canonical(folder)).second) {
    refuse_source(folder, "is given twice; its records would be in the result twice");
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
