// The shards of a split, made by the ordinary pipeline or through temporary files (gather.h): by
// how its samples lie, and what its disk and its destination are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

#include "output/split_writer.h"
#include "pack/packer.h"
#include "plan/split_plan.h"

namespace ffkit {

// Of the shards of `units`, as they are planned.
int64_t bytes_of(const SplitPlan& plan, std::span<const PackUnit> units);

// Makes the shards of `units` in `writer`. `folder`: where temporary files may be, a path, or the
// address of a store, which has no place for them. options.note is told why a source is read in
// another way. Throws as pack_samples() and gather_samples(), and Error that says what is in the
// way where samples are read in their order alone and no temporary files can be made.
void make_shards(const Source& source, const SplitPlan& plan, std::span<const PackUnit> units,
                 const std::filesystem::path& folder, const ConvertOptions& options,
                 SplitWriter& writer, const std::function<void(const PackProgress&)>& on_progress);

}  // namespace ffkit
