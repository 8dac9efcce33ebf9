// The shards of a split, made by the ordinary pipeline or through temporary files: by how its
// samples lie, and what its disk and its destination are.
//
// Gathering: an archive read once, front to back, although its records are written in another
// order.
//
//   1. samples in archive order ─▶ read, encode ─▶ <split>/shard-00012.gather.tmp: the records of a
//      shard, as they come
//   2. shard by shard: its gather file ─▶ memory ─▶ record order ─▶ SplitWriter; the file goes
//
// Each byte is written twice, in long runs: for spinning disks and network file systems, which
// dislike scattered reads. At most one shard is in memory. When step 1 is complete,
// <split>/gathered.tmp says so, and a conversion that goes on begins with step 2.
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

// Whether the samples of `units`, in their order, lie scattered in one archive on a disk or file
// system that reads scattered pieces of 128 KiB much slower than long runs. Measured on the
// archive, in a quarter of a second at most.
bool dislikes_scattered_reads(const Source& source, size_t split, std::span<const PackUnit> units);

// Makes the shards of `units` in `writer`. `folder`: where temporary files may be, a path, or the
// address of a store, which has no place for them. options.note is told why a source is read in
// another way. Throws as pack_samples() and gather_samples(), and Error that says what is in the
// way where samples are read in their order alone and no temporary files can be made.
void make_shards(const Source& source, const SplitPlan& plan, std::span<const PackUnit> units,
                 const std::filesystem::path& folder, const ConvertOptions& options,
                 SplitWriter& writer, const std::function<void(const PackProgress&)>& on_progress);

// gather.cpp

// Whether step 1 is complete in the split's `folder`.
bool is_gathered(const std::filesystem::path& folder);

// Makes the shards of `units` in `writer`, whose folder is `folder`. As pack_samples(), and
// Error(corrupt) when a gather file has changed. `on_progress` is called in step 1. What is left in
// the folder
// under names that end in ".tmp" is for the caller to remove.
PackProgress gather_samples(const Source& source, const SplitPlan& plan,
                            std::span<const PackUnit> units, const std::filesystem::path& folder,
                            const ConvertOptions& options, SplitWriter& writer,
                            const std::function<void(const PackProgress&)>& on_progress);

// Removes what gather_samples() has left of `units`: for whoever gathers others in the same folder.
void remove_gathered(const std::filesystem::path& folder, std::span<const PackUnit> units);

}  // namespace ffkit
