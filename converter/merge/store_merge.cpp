#include "merge/store_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include <ffkit/format/dataset.h>

#include "format/make_error.h"
#include "input/cancel.h"
#include "output/destination.h"
#include "output/store_claim.h"
#include "output/store_parts.h"
#include "pack/report.h"
#include "plan/merge_plan.h"
#include "storage/stores/object_store.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// The parts say what their shards are, and a list that they are there.
void require_shards(const fs::path& folder, const Manifest& manifest) {
  std::map<std::string, int64_t> bytes;
  for (const ListedObject& object :
       store_of(folder.native())->list(folder.native(), /*recursive=*/false).objects) {
    bytes[object.address.substr(object.address.find_last_of('/') + 1)] = object.facts.num_bytes;
  }
  for (const ManifestShard& shard : manifest.shards) {
    const auto found = bytes.find(shard.file);
    if (found != bytes.end() && found->second == shard.file_bytes) continue;
    throw error_at(folder / shard.file, ErrorCode::corrupt, "{}; make the part again that has it",
                   found == bytes.end()
                       ? std::string("is not there, but in the manifest of its part")
                       : fmt::format("has {} bytes, but {} in the manifest of its part",
                                     found->second, shard.file_bytes));
  }
}

Manifest joined_manifest(const PlannedSplit& split) {
  std::vector<std::string> names;
  for (const SourceShards& part : split.sources) {
    for (const ManifestShard& shard : part.manifest.shards) names.push_back(shard.file);
  }
  return split.joined(names);
}

void add_report(const PlannedSplit& split, ReportFile& report) {
  for (const SourceShards& part : split.sources) {
    for_report_lines(read_report(part.data_set / Destination::kReport),
                     [&](const ReportLine& line, std::string_view text) {
                       if (line.split == split.name) report.add(text);
                     });
  }
}

void remove_parts(const std::vector<PartThere>& parts) {
  for (const PartThere& part : parts) {
    for (const ListedObject& object :
         store_of(part.folder.native())->list(part.folder.native(), /*recursive=*/true).objects) {
      remove_file_at(object.address);
    }
  }
}

void require_finished(const std::vector<PartThere>& parts, const fs::path& data_set) {
  if (parts.empty()) {
    throw error_at(data_set, ErrorCode::not_found,
                   "there are no parts of a conversion; they are made with {}",
                   option_name("part"));
  }
  for (const PartThere& part : parts) {
    if (part.is_finished) continue;
    throw error_at(part.folder, ErrorCode::invalid_argument,
                   "this part of the conversion has not finished; {}",
                   part.command.empty()
                       ? "wait for it, or begin it again with " + option_on("resume")
                       : "wait for it, or finish it with: " + part.command);
  }
}

}  // namespace

std::vector<Manifest> merge_parts(const fs::path& address, const MergeOptions& options) {
  const fs::path data_set = address.has_filename() ? address : address.parent_path();
  require_writable(data_set);
  StoreClaim claim(data_set, options.note, [&] { throw_if_cancelled(options.cancel); });
  const std::vector<PartThere> parts = list_parts(data_set);
  const bool is_marked = is_file_at(data_set / kUnfinishedMarker);
  std::vector<Manifest> manifests;
  if (!is_marked && !parts.empty() && !list_splits(data_set).empty()) {
    // A merge was killed when all was done but this.
    for (const std::string& split : list_splits(data_set)) {
      manifests.push_back(read_manifest(data_set / split / "manifest.json"));
    }
    remove_parts(parts);
    return manifests;
  }
  require_finished(parts, data_set);
  MergePlan plan(options.note);
  for (const PartThere& part : parts) plan.add_part(part.folder, part.splits);
  const std::vector<PlannedSplit> splits = plan.splits();
  manifests.reserve(splits.size());
  for (const PlannedSplit& split : splits) {
    throw_if_cancelled(options.cancel);
    manifests.push_back(joined_manifest(split));
    require_shards(data_set / split.name, manifests.back());
  }
  ReportFile report(data_set / Destination::kReport);
  for (const PlannedSplit& split : splits) add_report(split, report);
  report.finish();
  claim.require_held();
  for (const Manifest& manifest : manifests) {
    write_manifest(data_set / manifest.split / "manifest.json", manifest);
  }
  remove_file_at(data_set / kUnfinishedMarker);
  remove_parts(parts);
  return manifests;
}

}  // namespace ffkit
