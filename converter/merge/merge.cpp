#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>

#include <ffkit/converter/merge.h>
#include <ffkit/format/dataset_writer.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "merge/folder_lock.h"
#include "merge/merge_plan.h"
#include "merge/shard_mover.h"
#include "merge/store_merge.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "output/own_names.h"
#include "output/store_parts.h"
#include "pack/report.h"
#include "places/place.h"

namespace ffkit {

void describe(MergeOptions& options, OptionTable& table) {
  table.add_choice("transfer", options.transfer,
                   "How shards get into DST. 'link' makes hard links, or copies if links are "
                   "impossible. 'move' removes the shards from the sources when the result is safe "
                   "on disk. 'copy' copies the shards");
  table.add_choice("duplicates", options.duplicates,
                   "Action if DST already has records that were made from the same bytes. 'fail' "
                   "joins nothing. 'keep' stores these records twice");
  table.add("duplicate-ids", options.duplicate_ids,
            "Writes the ids of the records that DST already has to this file, one id on each line");
}

namespace {

void require_space_for_copies(const std::vector<PlannedSplit>& splits, const fs::path& destination,
                              const ShardMover& mover) {
  int64_t num_bytes = 0;
  for (const PlannedSplit& split : splits) {
    for (const SourceShards& source : split.sources) {
      if (mover.will_copy(source.folder, destination)) num_bytes += source.manifest.file_bytes();
    }
  }
  require_free_space(num_bytes, destination);
}

// Brings the split's new shards into `folder` and returns the manifest that is to be written there.
Manifest bring_shards(const PlannedSplit& split, const fs::path& folder, ShardMover& mover) {
  mover.make_folder(folder);
  std::vector<std::string> names;
  auto number = static_cast<int64_t>(split.manifest.shards.size());
  for (const SourceShards& source : split.sources) {
    for (const ManifestShard& shard : source.manifest.shards) {
      std::string name = split.is_of_groups ? shard.file : shard_file_name(number++);
      // An interrupted addition may have left shards that no manifest lists.
      while (fs::exists(folder / name)) name = shard_file_name(number++);
      mover.bring(source.folder / shard.file, folder / name);
      names.push_back(std::move(name));
    }
  }
  sync_folder(folder);
  return split.joined(names);
}

// The report.jsonl of a data set that is added to. Lines are durable before the manifest that lists
// the records they are about.
class GrowingReport {
 public:
  explicit GrowingReport(fs::path path) : path_(std::move(path)), text_(read_report(path_)) {}

  // Unless they stand at the end already, where an addition that was killed before its manifest has
  // left them.
  void add(const std::string& lines) {
    if (lines.empty() || text_.ends_with(lines)) return;
    before_ = text_;
    text_ += lines;
    write_durably(path_, text_);
  }

  // Takes the lines of the last add() away, as far as that can be done: they say nothing wrong of
  // records that are there.
  void take_back() noexcept {
    if (!before_) return;
    try {
      if (before_->empty()) {
        fs::remove(path_);
      } else {
        write_durably(path_, *before_);
      }
    } catch (const std::exception&) {
      return;
    }
  }

  void keep() { before_.reset(); }

 private:
  const fs::path path_;
  std::string text_;
  std::optional<std::string> before_;
};

// Whether the manifest at `path` is, or may be, the new one: then its shards must stay.
bool may_list(const fs::path& path, const Manifest& manifest) {
  try {
    return read_manifest(path).shards.size() == manifest.shards.size();
  } catch (const Error& error) {
    return error.code() != ErrorCode::not_found;
  }
}

// Readers never see a manifest without its shards: it goes first.
void remove_sources(const std::vector<PlannedSplit>& splits) try {
  std::error_code ignored;
  for (const PlannedSplit& split : splits) {
    for (const SourceShards& source : split.sources) {
      fs::remove(source.folder / kManifestFile);
      sync_folder(source.folder);
      for (const ManifestShard& shard : source.manifest.shards)
        fs::remove(source.folder / shard.file);
      if (fs::remove(source.folder, ignored)) fs::remove(source.folder.parent_path(), ignored);
    }
  }
} catch (const fs::filesystem_error& error) {
  throw io_error_at(
      error.path1(),
      "cannot be removed; the result is complete, so remove the rest of the sources yourself",
      error.code().value());
}

ConvertSummary summarize(const std::vector<Manifest>& manifests,
                         std::chrono::steady_clock::time_point start) {
  ConvertSummary summary;
  for (const Manifest& manifest : manifests) {
    summary.splits.push_back(summary_of(manifest));
    summary.num_classes =
        std::max(summary.num_classes, static_cast<int64_t>(manifest.classes.size()));
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

// Shards get into a folder by hard links and renames.
void require_folders(const fs::path& destination, const std::vector<fs::path>& sources) {
  const auto refuse = [](const fs::path& address, const char* remedy) {
    throw error_at(address, ErrorCode::unsupported,
                   "ffkit joins data sets with links on a disk, but a store has no links; {}",
                   remedy);
  };
  constexpr const char* kRead =
      "read the data sets as a chain, or join the data sets in a folder and copy the result";
  if (const Place place(destination); place.is_in_store()) refuse(place.path(), kRead);
  for (const fs::path& source : sources) {
    if (const Place place(source); place.is_in_store()) refuse(place.path(), kRead);
  }
}

void require_sources(const std::vector<fs::path>& sources) {
  if (sources.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "give at least one source, which is the folder of a data set");
  }
}

// Adds the sources to `plan`, each locked beforehand, so that what is found is there until the end.
void add_sources(const std::vector<fs::path>& sources, const MergeOptions& options,
                 FolderLocks& locks, MergePlan& plan) {
  const auto use =
      options.transfer == ShardTransfer::move ? FolderLocks::Use::change : FolderLocks::Use::read;
  for (const fs::path& source : sources) {
    if (fs::is_directory(source)) locks.add(source, use, options.note);
    plan.add_source(source);  // says what is wrong with others
  }
}

ConvertSummary merge(const fs::path& destination, const std::vector<fs::path>& sources,
                     const MergeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Place place(destination);
  if (sources.empty() && (place.is_in_store() || has_parts(destination))) {
    if (place.is_in_store()) return summarize(merge_parts(place.path(), options), start);
    try {
      return summarize(merge_parts(place.in_store().path(), options), start);
    } catch (const Error& error) {
      throw told_by_path(error);
    }
  }
  require_sources(sources);
  require_folders(destination, sources);
  Destination::require_usable(destination);
  refuse_destination_inside(sources, destination);
  FolderLocks locks;
  MergePlan plan(options);
  add_sources(sources, options, locks, plan);
  const std::vector<PlannedSplit> splits = plan.splits();

  std::vector<Manifest> manifests;
  const auto claimed = Destination::claim(
      destination,
      {.kind = Destination::Kind::merge, .command = options.command, .note = options.note});
  claimed->note_start_over(options.note, destination);
  ReportFile report(claimed->report_path());
  {
    ShardMover mover(options);
    require_space_for_copies(splits, claimed->folder(), mover);
    for (const PlannedSplit& split : splits) {
      const fs::path folder = claimed->folder() / split.name;
      manifests.push_back(bring_shards(split, folder, mover));
      write_manifest(folder / kManifestFile, manifests.back());
      mover.keep(folder);  // `claimed` clears up
      split.read_reports([&](std::string_view text) { report.add(text); });
    }
  }
  report.finish();
  claimed->commit();
  if (options.transfer == ShardTransfer::move) remove_sources(splits);
  return summarize(manifests, start);
}

ConvertSummary append(const fs::path& destination, const std::vector<fs::path>& sources,
                      const MergeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  require_sources(sources);
  require_folders(destination, sources);
  FolderLocks locks;
  locks.add(destination, FolderLocks::Use::change, options.note);
  const fs::path folder = fs::canonical(destination);
  MergePlan plan(options);
  plan.set_destination(folder);
  add_sources(sources, options, locks, plan);
  const std::vector<PlannedSplit> splits = plan.splits();
  if (splits.empty()) {
    throw error_at(
        destination, ErrorCode::invalid_argument,
        "the destination already contains all shards of the sources, so there is nothing to merge");
  }

  std::vector<Manifest> manifests;
  manifests.reserve(splits.size());
  ShardMover mover(options);
  require_space_for_copies(splits, folder, mover);
  for (const PlannedSplit& split : splits) {
    manifests.push_back(bring_shards(split, folder / split.name, mover));
  }
  sync_folder(folder);
  // A signal is late from here on: the manifests follow one another as fast as can be.
  GrowingReport report(folder / kReportFile);
  for (size_t i = 0; i < splits.size(); ++i) {
    const fs::path split_folder = folder / splits[i].name;
    const fs::path path = split_folder / kManifestFile;
    try {
      std::string lines;
      splits[i].read_reports([&](std::string_view text) { lines += text; });
      report.add(lines);
      write_manifest(path, manifests[i]);
    } catch (...) {
      if (may_list(path, manifests[i])) {
        mover.keep(split_folder);
      } else {
        report.take_back();
      }
      throw;
    }
    report.keep();
    mover.keep(split_folder);
  }
  if (options.transfer == ShardTransfer::move) remove_sources(splits);
  return summarize(manifests, start);
}

}  // namespace

bool holds_parts(const fs::path& destination) {
  return with_errors_of(destination, [&] { return has_parts(destination); });
}

ConvertSummary merge_datasets(const fs::path& destination, const std::vector<fs::path>& sources,
                              const MergeOptions& options) {
  return with_errors_of(destination, [&] { return merge(destination, sources, options); });
}

ConvertSummary append_datasets(const fs::path& destination, const std::vector<fs::path>& sources,
                               const MergeOptions& options) {
  return with_errors_of(destination, [&] { return append(destination, sources, options); });
}

}  // namespace ffkit
