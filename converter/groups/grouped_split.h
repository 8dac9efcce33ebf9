// GroupedSplit: a split of a GroupedSource, made group by group.
//
//   for each group of this part: open its files ─▶ plan its samples ─▶ shards ─▶ a log of the group
//
// Memory is that of one group, beside the list of files and the facts of shards. A conversion that
// goes on takes groups over by their logs, and shards of a group without a log as ever.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/format/manifest.h>

#include "groups/group_log.h"
#include "groups/note_tally.h"
#include "input/grouped_source.h"
#include "output/destination.h"
#include "output/record_comparison.h"
#include "pack/packer.h"
#include "pack/report.h"
#include "plan/split_plan.h"

namespace ffkit {

class GroupedSplit {
 public:
  // All must outlive this. `name`: of the destination, as the user gave it.
  GroupedSplit(const GroupedSource& source, const SplitPlan& files, Destination& claimed,
               const std::filesystem::path& name, const ConvertOptions& options);

  // Makes what is not there, and returns the manifest, which has no shards where there is no
  // record. Throws as pack_samples() and GroupedSource::open_group().
  Manifest make();
  // Of all groups, after make().
  int64_t num_samples() const { return num_samples_; }
  // In record order.
  void add_lines_to(ReportFile& report) const;

 private:
  FinishedGroup make_group(int64_t group);
  void add(int64_t group, FinishedGroup finished);
  std::function<void(const PackProgress&)> progress_of(const SplitPlan& plan, int64_t num_before,
                                                       const char* records) const;
  std::filesystem::path reports_folder() const;
  std::string named(const std::string& sentence) const;

  const GroupedSource& source_;
  const SplitPlan& files_;
  Destination& claimed_;
  const std::filesystem::path& name_;
  const ConvertOptions& options_;
  NoteTally notes_;
  int64_t num_samples_ = 0;
  int64_t num_taken_over_ = 0;  // samples of groups that were there
  int64_t bytes_done_ = 0;      // of files
  std::vector<ManifestShard> shards_;
  std::vector<int64_t> reports_;
  std::string samples_;
};

// Where the first sample that is not what it was comes from: of the groups whose shards lie in
// `folder`, which are made once more (output/record_comparison.h); with MissingShards::left_out, of
// all groups. Nothing when none is.
std::optional<std::string> first_changed_in_groups(const GroupedSource& source,
                                                   const SplitPlan& files,
                                                   const std::filesystem::path& folder,
                                                   MissingShards missing,
                                                   const ConvertOptions& options);

}  // namespace ffkit
