// The shards of one attempt of a ShardSink's task: their names, and what the driver is told of
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <ffkit/format/manifest.h>

namespace ffkit {

constexpr int64_t kMaxTask = 99'999'999;

// "shard-000003-00012-0123456789abcdef.ffr"
std::string task_shard_name(int64_t task, int64_t number, std::string_view attempt);
// 16 hex digits that nobody else has.
std::string random_id();

// What the marker of a split says while it is written by the tasks of a job.
std::string plan_of_job(std::string_view job);
// Throws Error(invalid_argument) where the split in `folder` is not, or no longer, of that job.
void require_job(const std::filesystem::path& folder, const std::string& job);

struct TaskDescription {
  std::string job;
  int64_t task = 0;
  std::string attempt;  // empty: there were no samples
  Manifest manifest;    // without classes and source; without shards where there were no samples
};

std::string to_text(const TaskDescription& description);
// Throws Error(invalid_argument) for a text that is none.
TaskDescription parse_task_description(const std::string& text);

}  // namespace ffkit
