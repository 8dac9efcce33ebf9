// The official splits of nuScenes v1.0: which scene belongs to which. Constants; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit::nuscenes {

// The splits of a version of the tables: "v1.0-trainval" has train and val, "v1.0-test" test,
// "v1.0-mini" mini_train and mini_val. Throws Error(invalid_argument) with the versions there are.
std::span<const std::string_view> splits_of_version(std::string_view version);

// The scenes of `split`, "scene-0061" and so on, sorted, as in nuscenes.utils.splits of
// nuscenes-devkit 1.2.0: 700 of train, 150 of val and of test, 8 of mini_train, 2 of mini_val.
// Throws Error(invalid_argument) with the splits there are.
std::vector<std::string> scenes_of_split(std::string_view split);

}  // namespace ffkit::nuscenes
