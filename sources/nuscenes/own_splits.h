// Splits of nuScenes' tables: the official ones, and those that the devkit reads from splits.json
// beside the tables, {"my_train": ["scene-0001", ..]}.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit::nuscenes {

inline constexpr const char* kSplitsFile = "splits.json";

bool is_official_version(std::string_view version);

struct SceneSplit {
  std::string name;
  std::vector<std::string> scenes;  // names; not all need be in the tables
  bool is_own = false;              // of splits.json
};

// The splits of `folder`, the tables of `version`, that `wanted` names, all where it is empty:
// official ones first, then those of splits.json, in its order. A split of splits.json that is
// called as one that the devkit has a list of is taken in place of it where the tables have no
// scene of that list, with a note. Throws Error(corrupt or invalid_argument) for a splits.json that
// is not as the devkit wants it or means something else there, and for a wanted split that is not
// there.
std::vector<SceneSplit> list_scene_splits(const std::filesystem::path& folder,
                                          const std::string& version,
                                          const std::vector<std::string>& scenes,
                                          const std::vector<std::string>& wanted,
                                          std::vector<std::string>& notes);

}  // namespace ffkit::nuscenes
