#include "merge/store_merge.h"

#include <algorithm>
#include <optional>
#include <string>

#include <ffkit/base/option_names.h>
#include <ffkit/format/dataset.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "input/cancel.h"
#include "merge/merge_plan.h"
#include "output/own_names.h"
#include "output/store_claim.h"
#include "output/store_parts.h"
#include "pack/report.h"
#include "storage/addresses/place.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

void require_finished(const std::vector<PartThere>& parts, const fs::path& data_set) {
  if (parts.empty()) {
    throw error_at(data_set, ErrorCode::not_found,
                   "this place contains no parts of a conversion; make the parts with {}",
                   option_name("part"));
  }
  for (const PartThere& part : parts) {
    if (part.is_finished) continue;
    throw error_at(
        part.folder, ErrorCode::invalid_argument,
        "this part of the conversion has not finished; {}",
        part.command.empty()
            ? "wait until the part is finished, or start it again with " + option_on("resume")
            : "wait until the part is finished, or finish it with: " + part.command);
  }
  const int64_t count = num_parts(data_set);
  for (int64_t index = 1; index <= count; ++index) {
    const fs::path folder = folder_of_part(data_set, {.index = index, .count = count});
    if (std::ranges::find(parts, folder, &PartThere::folder) != parts.end()) continue;
    throw error_at(data_set, ErrorCode::invalid_argument,
                   "only {} of {} parts exist; make the missing parts, and begin with {}",
                   parts.size(), count, option_set("part", fmt::format("{}/{}", index, count)));
  }
}

// Whether all is done, but perhaps for what a killed merge had still to remove.
bool is_merged(const fs::path& data_set) {
  return !is_file_at(data_set / kUnfinishedMarker) && !list_splits(data_set).empty();
}

std::vector<Manifest> finish_merge(const fs::path& data_set) {
  std::vector<Manifest> manifests;
  const std::vector<std::string> splits = list_splits(data_set);
  manifests.reserve(splits.size());
  for (const std::string& split : splits) {
    manifests.push_back(read_manifest(data_set / split / kManifestFile));
  }
  remove_parts(data_set, splits);
  return manifests;
}

// With the claim.
std::vector<Manifest> merge_claimed(const fs::path& data_set, StoreClaim& claim,
                                    const MergeOptions& options) {
  const std::vector<PartThere> parts = list_parts(data_set);
  require_finished(parts, data_set);
  MergePlan plan(options);
  for (const PartThere& part : parts) plan.add_part(part.folder, part.splits);
  const std::vector<PlannedSplit> splits = plan.splits();
  std::vector<Manifest> manifests;
  std::vector<std::string> names;
  manifests.reserve(splits.size());
  names.reserve(splits.size());
  for (const PlannedSplit& split : splits) {
    throw_if_cancelled(options.cancel);
    names.push_back(split.name);
    manifests.push_back(split.joined());
    const fs::path folder = data_set / split.name;
    require_shards(folder, manifests.back().shards, files_there(folder), kByParts);
  }
  ReportFile report(data_set / kReportFile);
  for (const PlannedSplit& split : splits) {
    split.read_reports([&](std::string_view text) { report.add(text); });
  }
  report.finish();
  claim.require_held();
  for (const Manifest& manifest : manifests) {
    write_manifest(data_set / manifest.split / kManifestFile, manifest);
  }
  remove_file_at(data_set / kUnfinishedMarker);
  remove_parts(data_set, names);
  return manifests;
}

}  // namespace

std::vector<Manifest> merge_parts(const fs::path& address, const MergeOptions& options) {
  const fs::path data_set = Place(address).in_store().path();
  require_writable(data_set);
  StoreClaim claim(data_set, options.note, [&] { throw_if_cancelled(options.cancel); });
  return is_merged(data_set) ? finish_merge(data_set) : merge_claimed(data_set, claim, options);
}

MergedParts merge_parts_when_complete(const fs::path& data_set, int64_t count,
                                      const MergeOptions& options) {
  MergedParts merged;
  if (!is_merged(data_set)) {
    merged.num_finished = num_finished_parts(data_set, count);
    // The last look may have been at what a merge was removing.
    if (merged.num_finished < count && !is_merged(data_set)) return merged;
  }
  merged.num_finished = count;
  std::optional<StoreClaim> claim;
  try {
    claim.emplace(data_set, options.note, [&] { throw_if_cancelled(options.cancel); });
  } catch (const Error& error) {
    // Said of the data set itself: another process has the claim.
    const bool is_other = error.code() == ErrorCode::invalid_argument &&
                          error.context().path == without_marks(data_set.native());
    if (!is_other) throw;
    merged.merged_by_other = true;
    return merged;
  }
  if (is_merged(data_set)) {
    finish_merge(data_set);
    merged.merged_by_other = true;
    return merged;
  }
  // One may be made anew since it was counted.
  merged.num_finished = num_finished_parts(data_set, count);
  if (merged.num_finished == count) merged.manifests = merge_claimed(data_set, *claim, options);
  return merged;
}

}  // namespace ffkit
