#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include <ffkit/converter/merge.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/error.h>

#include "destination.h"
#include "destination_checks.h"
#include "format/file.h"
#include "merge_plan.h"
#include "report.h"
#include "shard_mover.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Keeps two appends to one folder apart. The folder itself is locked: nothing has to be made and cleared away.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (fd_ >= 0) ::close(fd_);
      if (error == EWOULDBLOCK) {
        throw Error(ErrorCode::invalid_argument,
                    "another append to this folder is at work; wait for it",
                    {.path = folder.string()});
      }
      throw Error(error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                  "cannot be opened; give a data set folder, or make one of several with merge",
                  {.path = folder.string(), .errno_value = error});
    }
  }
  ~FolderLock() { ::close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

// filesystem_error has no place behind a public function.
template <typename Action>
auto with_errors_of_ours(const fs::path& destination, const Action& action) {
  try {
    return action();
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, "cannot be examined or changed",
                {.path = (error.path1().empty() ? destination : error.path1()).string(),
                 .errno_value = error.code().value()});
  }
}

void require_space_for_copies(const std::vector<PlannedSplit>& splits, const fs::path& destination,
                              const ShardMover& mover) {
  int64_t num_bytes = 0;
  for (const PlannedSplit& split : splits) {
    for (const SplitPart& part : split.parts) {
      if (mover.will_copy(part.folder, destination)) num_bytes += part.manifest.file_bytes();
    }
  }
  require_free_space(num_bytes, destination);
}

// Brings the split's new shards into `folder` and returns the manifest that is to be written there.
Manifest bring_shards(const PlannedSplit& split, const fs::path& folder, ShardMover& mover) {
  mover.make_folder(folder);
  std::vector<std::string> names;
  auto number = static_cast<int64_t>(split.manifest.shards.size());
  for (const SplitPart& part : split.parts) {
    for (const ManifestShard& shard : part.manifest.shards) {
      std::string name = shard_file_name(number++);
      // An interrupted addition may have left shards that no manifest lists.
      while (fs::exists(folder / name)) name = shard_file_name(number++);
      mover.bring(part.folder / shard.file, folder / name);
      names.push_back(std::move(name));
    }
  }
  sync_folder(folder);
  return split.joined(names);
}

// The lines about a split in a data set's report.jsonl, without its others.
std::string report_of(const fs::path& folder, const std::string& split) {
  const std::string key = fmt::format("{{\"split\":{},", nlohmann::json(split).dump());
  std::ifstream report(folder / Destination::kReport);
  std::string lines;
  for (std::string line; std::getline(report, line);) {
    if (line.starts_with(key)) lines += line + '\n';
  }
  return lines;
}

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
    for (const SplitPart& part : split.parts) {
      fs::remove(part.folder / "manifest.json");
      sync_folder(part.folder);
      for (const ManifestShard& shard : part.manifest.shards) fs::remove(part.folder / shard.file);
      if (fs::remove(part.folder, ignored)) fs::remove(part.folder.parent_path(), ignored);
    }
  }
} catch (const fs::filesystem_error& error) {
  throw Error(ErrorCode::io,
              "cannot be removed; the result is complete, so remove what is left of the sources",
              {.path = error.path1().string(), .errno_value = error.code().value()});
}

ConvertSummary summarize(const std::vector<Manifest>& manifests,
                         std::chrono::steady_clock::time_point start) {
  ConvertSummary summary;
  for (const Manifest& manifest : manifests) {
    summary.splits.push_back({.split = manifest.split,
                              .num_records = manifest.num_records(),
                              .num_shards = static_cast<int64_t>(manifest.shards.size()),
                              .file_bytes = manifest.file_bytes(),
                              .fingerprint = manifest.fingerprint()});
    summary.num_classes =
        std::max(summary.num_classes, static_cast<int64_t>(manifest.classes.size()));
  }
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

void require_sources(const std::vector<fs::path>& sources) {
  if (sources.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "give at least one data set folder to take shards from");
  }
}

ConvertSummary merge(const fs::path& destination, const std::vector<fs::path>& sources,
                     const MergeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  require_sources(sources);
  Destination::require_usable(destination);
  refuse_destination_inside(sources, destination);
  MergePlan plan(options.note);
  for (const fs::path& source : sources) plan.add_source(source);
  const std::vector<PlannedSplit> splits = plan.splits();

  std::vector<Manifest> manifests;
  std::string report;
  Destination claimed(destination);
  {
    ShardMover mover(options);
    require_space_for_copies(splits, claimed.folder(), mover);
    for (const PlannedSplit& split : splits) {
      const fs::path folder = claimed.folder() / split.name;
      manifests.push_back(bring_shards(split, folder, mover));
      write_manifest(folder / "manifest.json", manifests.back());
      mover.keep(folder);  // `claimed` clears up
      for (const SplitPart& part : split.parts) {
        report += report_of(part.folder.parent_path(), split.name);
      }
    }
  }
  if (!report.empty()) write_text_file(claimed.report_path(), report);
  claimed.commit();
  if (options.transfer == ShardTransfer::move) remove_sources(splits);
  return summarize(manifests, start);
}

ConvertSummary append(const fs::path& destination, const std::vector<fs::path>& sources,
                      const MergeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  require_sources(sources);
  const FolderLock lock(destination);
  const fs::path folder = fs::canonical(destination);
  MergePlan plan(options.note);
  plan.set_destination(folder);
  for (const fs::path& source : sources) plan.add_source(source);
  const std::vector<PlannedSplit> splits = plan.splits();
  if (splits.empty()) {
    throw Error(ErrorCode::invalid_argument, "holds all shards of the sources already",
                {.path = destination.string()});
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
  for (size_t i = 0; i < splits.size(); ++i) {
    const fs::path split_folder = folder / splits[i].name;
    const fs::path path = split_folder / "manifest.json";
    try {
      write_manifest(path, manifests[i]);
    } catch (...) {
      if (may_list(path, manifests[i])) mover.keep(split_folder);
      throw;
    }
    mover.keep(split_folder);
  }
  if (options.transfer == ShardTransfer::move) remove_sources(splits);
  return summarize(manifests, start);
}

}  // namespace

ConvertSummary merge_datasets(const fs::path& destination, const std::vector<fs::path>& sources,
                              const MergeOptions& options) {
  return with_errors_of_ours(destination, [&] { return merge(destination, sources, options); });
}

ConvertSummary append_datasets(const fs::path& destination, const std::vector<fs::path>& sources,
                               const MergeOptions& options) {
  return with_errors_of_ours(destination, [&] { return append(destination, sources, options); });
}

}  // namespace ffkit
