#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include <ffkit/base/enum_names.h>
#include <ffkit/nuscenes/classes.h>

#include "base/printable.h"
#include "converter/input/input_file.h"
#include "converter/input/source_error.h"
#include "converter/places/place.h"
#include "nuscenes/listing.h"

namespace ffkit::nuscenes {
namespace {

// Of nuscenes-devkit 1.2.0, which does not look for these in splits.json.
constexpr std::string_view kDevkitSplits =
    "train val test mini_train mini_val train_detect train_track";

std::vector<SceneSplit> read_own_splits(const fs::path& path) {
  std::vector<SceneSplit> splits;
  if (!exists_at(path)) return splits;
  const auto refuse = [&path](const std::string& what) {
    throw source_error(path, ErrorCode::corrupt,
                       what + "; the devkit expects {\"split\": [\"scene-0001\", ...], ...}");
  };
  nlohmann::ordered_json json;
  try {
    json = nlohmann::ordered_json::parse(read_source_text(path));
  } catch (const nlohmann::json::exception& error) {
    refuse(fmt::format("the file is not valid JSON: {}", error.what()));
  }
  if (!json.is_object()) refuse("the file is not a JSON object");
  for (const auto& [name, scenes] : json.items()) {
    SceneSplit split{.name = name, .is_own = true};
    if (!scenes.is_array()) refuse(fmt::format("'{}' must be a list of names of scenes", name));
    std::set<std::string> names;
    for (const auto& scene : scenes) {
      if (!scene.is_string())
        refuse(fmt::format("'{}' contains {}, but must contain only names of scenes", name,
                           scene.dump()));
      // The devkit asks only whether a scene is in the list.
      if (names.insert(scene.get<std::string>()).second) split.scenes.push_back(scene);
    }
    splits.push_back(std::move(split));
  }
  return splits;
}

void keep_wanted(std::vector<SceneSplit>& splits, const std::vector<std::string>& wanted,
                 const fs::path& folder) {
  if (wanted.empty()) return;
  const std::vector<std::string> names = names_in(splits);
  for (const std::string& name : wanted) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw source_error(folder, ErrorCode::invalid_argument,
                       "unknown split '{}'; expected one of {}", name, fmt::join(names, ", "));
  }
  std::erase_if(splits, [&](const SceneSplit& split) {
    return std::ranges::find(wanted, split.name) == wanted.end();
  });
}

}  // namespace

bool is_official_version(std::string_view version) {
  return version == "v1.0-trainval" || version == "v1.0-test" || version == "v1.0-mini";
}

std::vector<SceneSplit> list_scene_splits(const fs::path& folder, const std::string& version,
                                          const std::vector<std::string>& scenes,
                                          const std::vector<std::string>& wanted,
                                          std::vector<std::string>& notes) {
  std::vector<SceneSplit> splits;
  const std::set<std::string_view> there(scenes.begin(), scenes.end());
  const auto has_scenes = [&there](const SceneSplit& split) {
    return std::ranges::any_of(split.scenes,
                               [&](const std::string& scene) { return there.contains(scene); });
  };
  if (is_official_version(version)) {
    for (const std::string_view name : splits_of_version(version)) {
      splits.push_back({.name = std::string(name), .scenes = scenes_of_split(name)});
    }
  }
  for (SceneSplit& own : read_own_splits(folder / kSplitsFile)) {
    if (!has_word(kDevkitSplits, own.name)) {
      splits.push_back(std::move(own));
      continue;
    }
    const auto official = std::ranges::find(splits, own.name, &SceneSplit::name);
    if (official != splits.end() && has_scenes(*official)) {
      throw source_error(folder / kSplitsFile, ErrorCode::invalid_argument,
                         "the file has the split '{}', but the devkit always uses its own scenes "
                         "for this split; rename the split",
                         own.name);
    }
    add_note(notes, (folder / kSplitsFile).string(),
             "the split '{}' is taken from this file, but the devkit has its own list with this "
             "name; rename the split to evaluate with the devkit",
             own.name);
    if (official != splits.end()) {
      *official = std::move(own);
    } else {
      splits.push_back(std::move(own));
    }
  }
  keep_wanted(splits, wanted, folder);
  return splits;
}

}  // namespace ffkit::nuscenes
