// The parts of a conversion (ConvertOptions::part) that write to one place, in a store or in a
// folder that all machines see; a folder is asked as a store is, by its address (file://):
//
//   DST/.ffkit-unfinished    kind "parts"; its plan is that of the whole conversion
//   DST/train/shard-*.ffr    numbered through all parts
//   DST/.part-2-of-4/        of one part: .ffkit-unfinished, which stays, of kind "finished part"
//                            in the end; train/manifest.json with this part's shards; report.jsonl
//
// A merge (merge/store_merge.h) writes what one machine would have written: it moves no shard. It
// begins when all parts have finished, and holds the claim of DST (store_claim.h). A part that has
// finished is made unfinished again under that claim alone, so that no shard changes under a merge.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>

#include "output/task_description.h"
#include "storage/stores/object_store.h"

namespace ffkit {

// Kinds of markers.
inline constexpr const char* kParts = "parts";
inline constexpr const char* kFinishedPart = "finished part";

// Of the shards in a part's manifest.
inline constexpr ShardsToldBy kByParts{.who = "the manifest of its part",
                                       .remedy = "make this part again"};

std::filesystem::path folder_of_part(const std::filesystem::path& data_set,
                                     const ConvertPart& part);

// Throws Error(invalid_argument) where a part may not write to `data_set`, in which `there` is: it
// holds anything but parts.
void require_parts(const std::filesystem::path& data_set, const Listing& there, bool has_marker);
// Marks the data set as one whose parts are made. `plan` identifies the conversion. Throws
// Error(invalid_argument) where parts of another one are there.
void begin_parts(const std::filesystem::path& data_set, const ConvertPart& part,
                 const std::string& plan);

// Whether parts are made, or were made and not all removed, at a path or an address.
bool has_parts(const std::filesystem::path& data_set);
// Whether a merge that was killed has left folders of parts, or its claim, in a data set that is
// finished. Also while one is at its end.
bool has_rest_of_merge(const std::filesystem::path& data_set);
// Where this call writes: the address of the folder `destination` for a part that shares it with
// the others, otherwise `destination`. Throws Error(invalid_argument) where all of a conversion is
// to be made where parts of one are.
std::filesystem::path place_of_part(const std::filesystem::path& destination,
                                    const ConvertOptions& options);

struct PartThere {
  std::filesystem::path folder;
  bool is_finished = false;
  std::string command;              // that finishes it
  std::vector<std::string> splits;  // with a manifest
};
// The parts of a data set, by their names.
std::vector<PartThere> list_parts(const std::filesystem::path& data_set);
// Into how many parts the conversion was divided; 0 where that is not known.
int64_t num_parts(const std::filesystem::path& data_set);
// How many of `count` parts have finished.
int64_t num_finished_parts(const std::filesystem::path& data_set, int64_t count);
// Removes all that the parts say of themselves, and what killed ones have left beside the shards of
// `splits`. For whoever holds the claim of the data set, when it is finished.
void remove_parts(const std::filesystem::path& data_set, const std::vector<std::string>& splits);

}  // namespace ffkit
