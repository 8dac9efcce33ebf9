// SplitConversion: a split of a conversion, made task by task (partial_work.md).
//
//   of samples          one task: the plan of the split
//   of groups of files  a task each, one after the other: open its files ─▶ plan its samples ─▶
//                       shards ─▶ its description
//
// Of groups, memory is that of one, beside the list of files and the facts of shards. A conversion
// that goes on takes groups over by their descriptions; what has none, shard by shard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>
#include <ffkit/converter/summary.h>
#include <ffkit/format/manifest.h>

#include "output/destination.h"
#include "output/task_description.h"
#include "pack/packer.h"
#include "pack/report.h"
#include "plan/split_plan.h"

namespace ffkit {

class SplitConversion {
 public:
  // All must outlive this. `name`: of the destination, as the user gave it.
  SplitConversion(const Source& source, const SplitPlan& plan, Destination& claimed,
                  const std::filesystem::path& name, const ConvertOptions& options);

  // Makes what is not there, the manifest last, and adds what there is to say of its samples to
  // `report`. Throws as pack_samples() and GroupedSource::open_group().
  SplitSummary make(ReportFile& report);

 private:
  using Note = std::function<void(const std::string&)>;

  void make_groups();
  TaskDescription make_group(const Source* samples, int64_t group, const Note& note);
  // The shards of `plan` that are not there.
  TaskDescription make_task(const Source& source, const SplitPlan& plan, const Note& note);
  std::optional<TaskDescription> found_group(int64_t group, const FilesThere& shards) const;
  void add(TaskDescription task);
  void note(const std::string& sentence) const;
  std::function<void(const PackProgress&)> progress_of(const Source& source, const SplitPlan& plan,
                                                       int64_t num_before) const;
  void require_records(const Manifest& manifest) const;

  const Source& source_;
  const SplitPlan& plan_;
  Destination& claimed_;
  const std::filesystem::path& name_;
  const ConvertOptions& options_;
  const std::filesystem::path folder_;  // of descriptions and reports
  const std::filesystem::path shards_folder_;
  TaskDescription done_;        // of all tasks together
  int64_t num_taken_over_ = 0;  // samples of groups that were there
  int64_t bytes_done_ = 0;      // of files
};

}  // namespace ffkit
