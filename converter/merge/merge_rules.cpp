#include "merge/merge_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include <ffkit/converter/source_kind.h>
#include <ffkit/format/dataset.h>

#include "base/make_error.h"
#include "output/own_names.h"
#include "plan/part_range.h"
#include "plan/plan_fingerprint.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

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

bool share_samples(const Manifest& a, const Manifest& b) {
  const std::vector<std::string> listed = listed_samples(a);
  return std::ranges::any_of(listed_samples(b), [&](const std::string& samples) {
    return std::ranges::find(listed, samples) != listed.end();
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

}  // namespace

void refuse_source(const fs::path& path, const std::string& message) {
  throw error_at(path, ErrorCode::invalid_argument, message);
}

std::string option_in(const Manifest& manifest, const std::string& key) {
  const auto found = manifest.options.find(key);
  return found == manifest.options.end() ? "" : found->second;
}

std::vector<std::string> listed_samples(const Manifest& manifest) {
  std::vector<std::string> listed;
  for (const auto& [key, value] : manifest.source) {
    if (key == kSamples || key.starts_with(fmt::format("{}_", kSamples))) listed.push_back(value);
  }
  return listed;
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
    refuse_source(folder, "is one split; give the folder it lies in");
  std::vector<std::string> splits = list_splits(folder);
  if (splits.empty()) {
    throw error_at(folder, ErrorCode::not_found,
                   "is not a data set: none of its folders has a manifest.json");
  }
  for (const std::string& split : splits) {
    if (!fs::exists(folder / split / kManifestFile)) {
      refuse_source(
          folder, fmt::format("split '{}' is of FFRecord v1, whose files cannot be joined; convert "
                              "them with 'ffconvert v1' first",
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
  if (rule == nullptr) return;
  for (const char* key : rule->options) {
    const auto value = [key](const Manifest& of) {
      const auto found = of.options.find(key);
      return found == of.options.end() ? std::string("unknown") : found->second;
    };
    const std::string mine = value(manifest);
    const std::string theirs = value(split.manifest);
    if (mine == theirs) continue;
    refuse_source(folder, fmt::format("the {} of split '{}' are others: {} is {} against {}; "
                                      "convert one of them again",
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

void require_new_records(const PlannedSplit& split, const Manifest& manifest,
                         const fs::path& folder) {
  // Of sets whose records refer to each other by number, require_kept_references() says what is
  // wrong: two may well share their maps.
  if (manifest.options.contains(kReferences)) return;
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

void require_kept_references(const PlannedSplit& split) {
  const auto has = [](const char* key) {
    return [key](const SourceShards& source) { return source.manifest.options.contains(key); };
  };
  const bool is_joined = !split.is_new || split.sources.size() > 1;
  if (is_joined && std::ranges::any_of(split.sources, has(kReferences)) &&
      !(split.is_new && std::ranges::all_of(split.sources, has(kPart)))) {
    refuse_source(
        split.sources.back().folder,
        fmt::format(
            "the records of split '{}' refer to each other by number, which would be others "
            "afterwards: only the parts of one conversion can be joined",
            split.name));
  }
}

}  // namespace ffkit
