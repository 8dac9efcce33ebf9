// Names that ffkit gives to files of data sets, finished and unfinished (partial_work.md). Pure
// functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ffkit {

namespace fs = std::filesystem;

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kReportFile = "report.jsonl";
// Of FFRecord v1.
inline constexpr const char* kV1MetaFile = "meta.pkl";
// Of a split's folder: its samples are gathered (gather.cpp).
inline constexpr const char* kGatheredFile = "gathered.tmp";
// How the folders of parts begin: ".part-2-of-4".
inline constexpr const char* kPartPrefix = ".part-";

// Of an address: what stands behind its last slash.
inline std::string last_name(const std::string& address) {
  return address.substr(address.rfind('/') + 1);
}
// By its address or its name.
inline bool is_part_folder(const std::string& folder) {
  return last_name(folder).starts_with(kPartPrefix);
}
// "shard-00012.ffr", "shard-000003-00012-0123456789abcdef.ffr".
bool is_shard_name(std::string_view name);
// 12 for "shard-00012.ffr"; nothing for other names, those of tasks among them.
std::optional<int64_t> number_of_shard(std::string_view name);
// "shard-000003-00012-0123456789abcdef.ffr": shard 12 of an attempt of task 3.
std::string task_shard_name(int64_t task, int64_t number, std::string_view attempt);
// What there is to say about a shard's samples: "shard-00012.report.tmp".
std::string report_name(int64_t shard);
// Its samples while they are gathered: "shard-00012.gather.tmp".
std::string gather_name(int64_t shard);
// The description of a group of files, by its first shard: "shard-300000.group.tmp".
std::string group_name(int64_t shard);
// "shard-00012.report.tmp", "shard-00012.gather.tmp", "shard-00012.group.tmp",
// "shard-00012.ffr.tmp", "gathered.tmp", "manifest.json.tmp", "report.jsonl.tmp", "before.tmp",
// "after.tmp": all that is renamed or removed before a conversion ends.
bool is_temporary_name(std::string_view name);
// The marker, and the files of those who use the folder.
bool is_marker_name(std::string_view name);
// Any of these, or a manifest: nobody else gives such names.
bool is_own_name(std::string_view name);
// Whether a file of this name belongs to a split's folder, or to that of a data set, that is not
// finished: all of these are removed by whoever starts over.
bool is_name_in_split(std::string_view name);
bool is_name_in_data_set(std::string_view name);

}  // namespace ffkit
