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
#include "places/place_address.h"
#include "storage/addresses/address.h"
#include "storage/reader/places.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestName = "manifest.json";
constexpr const char* kReportName = "report.jsonl";
constexpr int64_t kMostManifestBytes = int64_t{256} << 20;
constexpr int64_t kMostReportBytes = int64_t{4} << 30;

[[noreturn]] void refuse_target(const std::string& place, const std::string& what,
                                const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, what,
              {.path = shown_address_of_place(place),
               .subject = ErrorSubject::destination,
               .remedy = remedy});
}

CopiedSplit split_at_place(const fs::path& path, const std::string& folder) {
  const fs::path manifest = (folder.empty() ? path : path / folder) / kManifestName;
  return {.folder = folder,
          .manifest = read_manifest(manifest),
          .manifest_text = read_text_at(manifest, kMostManifestBytes)};
}

// Files that are no part of the data set, which a store or a disk lists.
void note_others(const fs::path& from, CopyPlan& plan) {
  const std::string place = address_of_place(from);
  Listing listing;
  try {
    listing = store_of(place)->list(place, /*recursive=*/true);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return;  // a web server has no lists
    throw;
  }
  std::set<std::string> own = {address_below(place, kReportName)};
  std::set<std::string> folders;
  for (const CopiedSplit& split : plan.splits) {
    const std::string folder = address_below(place, split.folder);
    folders.insert(folder);
    own.insert(address_below(folder, kManifestName));
    for (const ManifestShard& shard : split.manifest.shards) {
      own.insert(address_below(folder, shard.file));
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
        "{}: {} {} no part of the data set and {} not copied: {}{}", shown_address_of_place(place),
        num_others, num_others == 1 ? "file is" : "files are", num_others == 1 ? "is" : "are",
        fmt::join(others, ", "), num_others > std::ssize(others) ? ", ..." : ""));
  }
}

std::optional<std::string> report_at(const fs::path& folder) {
  const std::string address = address_below(address_of_place(folder), kReportName);
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

CopyPlan plan_copy(const fs::path& from, const std::vector<std::string>& splits) {
  if (!is_address(from) && !fs::is_directory(from)) {
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
    plan.report = report_at(from);
  }
  note_others(from, plan);
  return plan;
}

CopyTarget look_at_target(const CopyPlan& plan, const std::string& to) {
  const std::shared_ptr<ObjectStore> store = store_of(to);
  CopyTarget target;
  for (const CopiedSplit& split : plan.splits) {
    const std::string folder = address_below(to, split.folder);
    std::set<std::string> own = {address_below(folder, kManifestName)};
    if (split.folder.empty()) own.insert(address_below(folder, kReportName));
    for (const ManifestShard& shard : split.manifest.shards) {
      own.insert(address_below(folder, shard.file));
    }
    for (const ListedObject& object : store->list(folder, /*recursive=*/false).objects) {
      const std::string name = object.address.substr(folder.size() + 1);
      if (own.contains(object.address) || is_marker_name(name)) continue;
      refuse_target(folder, fmt::format("holds '{}', which is no part of what is copied", name),
                    "give another place, or take it away");
    }
    const std::string manifest = address_below(folder, kManifestName);
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
