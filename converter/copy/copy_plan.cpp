#include "copy/copy_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "base/fnv.h"
#include "base/make_error.h"
#include "format/dataset/dataset_files.h"
#include "output/own_names.h"
#include "places/place.h"
#include "storage/addresses/place.h"
#include "storage/reader/random_reader.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostManifestBytes = int64_t{256} << 20;
constexpr int64_t kMostReportBytes = int64_t{4} << 30;

[[noreturn]] void refuse_target(const Place& place, const std::string& what,
                                const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what,
              {.path = place.shown(), .subject = ErrorSubject::destination, .remedy = remedy});
}

CopiedSplit split_at_place(const fs::path& path, const std::string& folder) {
  const fs::path manifest = (folder.empty() ? path : path / folder) / kManifestFile;
  return {.folder = folder,
          .manifest = read_manifest(manifest),
          .manifest_text = read_text_at(manifest, kMostManifestBytes)};
}

// Files that are no part of the data set, which a store or a disk lists.
void note_others(const Place& place, CopyPlan& plan) {
  Listing listing;
  try {
    listing = store_of(place.address())->list(place.address(), /*recursive=*/true);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return;  // a web server has no lists
    throw;
  }
  std::set<std::string> own = {place.child(kReportFile).address()};
  std::set<std::string> folders;
  for (const CopiedSplit& split : plan.splits) {
    const Place folder = place.child(split.folder);
    folders.insert(folder.address());
    own.insert(folder.child(kManifestFile).address());
    for (const ManifestShard& shard : split.manifest.shards) {
      own.insert(folder.child(shard.file).address());
    }
  }
  std::vector<std::string> others;
  int64_t num_others = 0;
  for (const ListedObject& object : listing.objects) {
    if (own.contains(object.address)) continue;
    // Of splits that are not copied there is nothing to say.
    const std::string folder = object.address.substr(0, object.address.rfind('/'));
    if (!folders.contains(folder)) continue;
    ++num_others;
    if (others.size() < 3) others.push_back(object.address.substr(folder.size() + 1));
  }
  if (num_others > 0) {
    plan.notes.push_back(fmt::format(
        "{}: {} {} no part of the data set and {} not copied: {}{}", place.shown(), num_others,
        num_others == 1 ? "file is" : "files are", num_others == 1 ? "is" : "are",
        fmt::join(others, ", "), num_others > std::ssize(others) ? ", ..." : ""));
  }
}

std::optional<std::string> report_at(const Place& folder) {
  const std::string address = folder.child(kReportFile).address();
  const std::shared_ptr<ObjectStore> store = store_of(address);
  if (!store->find(address)) return std::nullopt;
  return store->read_all(address, kMostReportBytes);
}

}  // namespace

std::string CopyPlan::fingerprint() const {
  uint64_t hash = kFnvBasis;
  for (const CopiedSplit& split : splits) {
    hash = fnv1a64(std::as_bytes(std::span(split.folder)), hash);
    hash = fnv1a64(std::as_bytes(std::span(split.manifest_text)), hash);
  }
  return fmt::format("{:016x}", hash);
}

CopyPlan plan_copy(const Place& place, const std::vector<std::string>& splits) {
  const fs::path& from = place.path();
  if (!place.is_in_store() && !fs::is_directory(from)) {
    throw Error(ErrorCode::not_found, "there is no such folder",
                {.path = from.string(),
                 .subject = ErrorSubject::dataset,
                 .remedy = "give the folder of a data set, or of one of its splits"});
  }
  refuse_unfinished(from);
  CopyPlan plan;
  if (is_split_folder(from)) {
    if (!splits.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "is one split; say which splits of a data set only with its own folder",
                  {.path = absolute_name(from), .subject = ErrorSubject::argument});
    }
    plan.splits.push_back(split_at_place(from, ""));
  } else {
    std::vector<std::string> found = splits;
    if (found.empty()) found = list_splits(from);
    if (found.empty()) Dataset::open(from, "");  // says what is wrong
    for (const std::string& split : found) {
      if (!is_split_folder(from / split)) {
        throw Error(ErrorCode::not_found,
                    fmt::format("there is no split '{}' with a manifest", split),
                    {.path = absolute_name(from), .subject = ErrorSubject::split, .name = split});
      }
      plan.splits.push_back(split_at_place(from, split));
    }
    plan.report = report_at(place.in_store());
  }
  note_others(place.in_store(), plan);
  return plan;
}

CopyTarget look_at_target(const CopyPlan& plan, const Place& to) {
  const std::shared_ptr<ObjectStore> store = store_of(to.address());
  CopyTarget target;
  for (const CopiedSplit& split : plan.splits) {
    const Place folder = to.child(split.folder);
    std::set<std::string> own = {folder.child(kManifestFile).address()};
    if (split.folder.empty()) own.insert(folder.child(kReportFile).address());
    for (const ManifestShard& shard : split.manifest.shards) {
      own.insert(folder.child(shard.file).address());
    }
    for (const ListedObject& object : store->list(folder.address(), /*recursive=*/false).objects) {
      const std::string name = object.address.substr(folder.address().size() + 1);
      if (own.contains(object.address) || is_marker_name(name)) continue;
      refuse_target(folder, fmt::format("holds '{}', which is no part of what is copied", name),
                    "give another place, or take it away");
    }
    const std::string manifest = folder.child(kManifestFile).address();
    if (!store->find(manifest)) continue;
    if (store->read_all(manifest, kMostManifestBytes) != split.manifest_text) {
      refuse_target(folder, "holds another data set", "give another place, or take it away");
    }
    target.manifests.push_back(manifest);
  }
  target.is_finished = target.manifests.size() == plan.splits.size();
  return target;
}

}  // namespace ffkit
