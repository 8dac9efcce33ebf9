// A made-up nuScenes root: the thirteen tables of v1.0-trainval, samples/, maps/ and can_bus/ in
// the layout of the official data set. The scenes bear names of the official train and val splits,
// so that every reader of nuScenes splits them.
#pragma once

#include <filesystem>

#include <ffkit/sources/demo.h>

namespace ffkit::nuscenes::demo {

inline constexpr const char* kVersion = "v1.0-trainval";

// Throws Error(invalid_argument) for numbers out of range.
void validate(const DemoNuScenesOptions& options);

// Writes the root into `folder`, which is there and empty. The bytes of all files are a function of
// the numbers in `options` and of conversion.seed. Blocks; paints with conversion.num_threads
// threads. Throws Error(io), and Error(cancelled) once conversion.cancel is set; what was written
// by then stays.
void write_root(const std::filesystem::path& folder, const DemoNuScenesOptions& options,
                const ConvertOptions& conversion);

}  // namespace ffkit::nuscenes::demo
