// The parts of a conversion to a store (ConvertOptions::part), which write to one place:
//
//   DST/.ffkit-unfinished    kind "parts"; its plan is that of the whole conversion
//   DST/train/shard-*.ffr    numbered through all parts
//   DST/.part-2-of-4/        of one part: .ffkit-unfinished, which stays, of kind "finished part"
//                            in the end; train/manifest.json with this part's shards; report.jsonl
//
// A merge writes what one machine would have written: it moves no shard.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>

#include "storage/stores/object_store.h"

namespace ffkit {

// Kinds of markers.
inline constexpr const char* kParts = "parts";
inline constexpr const char* kFinishedPart = "finished part";

// How the folders of parts begin.
inline constexpr const char* kPartPrefix = ".part-";

std::filesystem::path folder_of_part(const std::filesystem::path& data_set,
                                     const ConvertPart& part);

// Throws Error(invalid_argument) where a part may not write to `data_set`, in which `there` is: it
// holds anything but parts.
void require_parts(const std::filesystem::path& data_set, const Listing& there, bool has_marker);
// Marks the data set as one whose parts are made. `plan` identifies the conversion. Throws
// Error(invalid_argument) where parts of another one are there.
void begin_parts(const std::filesystem::path& data_set, const ConvertPart& part,
                 const std::string& plan);

struct PartThere {
  std::filesystem::path folder;
  bool is_finished = false;
  std::string command;              // that finishes it
  std::vector<std::string> splits;  // with a manifest
};
// The parts of a data set, by their names.
std::vector<PartThere> list_parts(const std::filesystem::path& data_set);

}  // namespace ffkit
