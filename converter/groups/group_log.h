// What has become of a group of files: a small file of its own beside the reports of its shards,
// written when all of them are durable. So a conversion that goes on does not open the group again.
//
//   <split>/shard-300000.group.tmp     of group 3, whose shards are 300000, 300001, ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/manifest.h>

namespace ffkit {

struct FinishedGroup {
  std::vector<ManifestShard> shards;
  std::vector<int64_t> reports;  // numbers of shards about whose samples there is something to say
  int64_t num_samples = 0;       // those that were left out included
  std::string samples;           // SampleListing::samples
};

std::string group_log_name(int64_t group);
void write_group_log(const std::filesystem::path& folder, int64_t group, const Manifest& manifest,
                     const FinishedGroup& finished);
// Nothing where there is none in `folder`, or it is no log, or one of its shards is not among
// `shards`, which are there with these lengths.
std::optional<FinishedGroup> read_group_log(const std::filesystem::path& folder, int64_t group,
                                            const std::map<std::string, int64_t>& shards);

}  // namespace ffkit
