// TaskDescription: what has become of one task of a conversion, when its shards are durable: see
// partial_work.md. Whoever commits believes descriptions alone, and removes what none names.
//
//   of a ShardSink      JSON that the engine brings to the driver
//   of a group of files <split>/shard-300000.group.tmp: of group 3, whose shards are 300000, ...
//   of a part           its manifests and its report, .part-2-of-4/ (store_parts.h)
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/manifest.h>

namespace ffkit {

struct TaskDescription {
  bool is_of_group = false;
  // Of an attempt of a ShardSink's task. A group's job is the conversion that it lies in.
  std::string job = {};
  int64_t task = 0;
  std::string attempt = {};  // empty: there were no samples
  // Without classes and source; without shards where there were no samples.
  Manifest manifest = {};
  // Of a group.
  int64_t num_samples = 0;            // those that were left out included
  std::vector<int64_t> reports = {};  // numbers of shards about whose samples there is something
};

std::string to_text(const TaskDescription& description);
// Throws Error(invalid_argument) for a text that is none.
TaskDescription parse_task_description(const std::string& text);

// The files directly in a folder of a disk or of a store, and their lengths; none where there is no
// such folder.
using FilesThere = std::map<std::string, int64_t>;
FilesThere files_there(const std::filesystem::path& folder);
bool are_there(std::span<const ManifestShard> shards, const FilesThere& files);

// Who has described shards, and what is to be done where they are not as described.
struct ShardsToldBy {
  const char* who;
  const char* remedy;
  ErrorSubject subject = ErrorSubject::unknown;
};
// Throws Error(corrupt) about the first of `shards` that is not among `files`, those of `folder`,
// with its length.
void require_shards(const std::filesystem::path& folder, std::span<const ManifestShard> shards,
                    const FilesThere& files, const ShardsToldBy& told);

// 16 hex digits that nobody else has: of a job, of an attempt.
std::string random_id();
// What the marker of a split says while it is written by the tasks of a job.
std::string plan_of_job(std::string_view job);
// Throws Error(invalid_argument) where the split in `folder` is not, or no longer, of that job.
void require_job(const std::filesystem::path& folder, const std::string& job);

}  // namespace ffkit
