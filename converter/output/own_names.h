// Names that ffkit gives to files of data sets. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ffkit {

// "shard-00012.ffr", "shard-000003-00012-0123456789abcdef.ffr".
bool is_shard_name(std::string_view name);
// 12 for "shard-00012.ffr"; nothing for other names, those of tasks among them.
std::optional<int64_t> number_of_shard(std::string_view name);
// What there is to say about a shard's samples: "shard-00012.report.tmp".
std::string report_name(int64_t shard);
// "shard-00012.report.tmp", "shard-00012.gather.tmp", "shard-00012.group.tmp",
// "shard-00012.ffr.tmp", "gathered.tmp", "manifest.json.tmp", "report.jsonl.tmp", "before.tmp",
// "after.tmp": all that is renamed or removed before a conversion ends.
bool is_temporary_name(std::string_view name);
// The marker, and the files of those who use the folder.
bool is_marker_name(std::string_view name);

}  // namespace ffkit
