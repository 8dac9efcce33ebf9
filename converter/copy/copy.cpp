#include <fcntl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/copy.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/unfinished.h>
#include <ffkit/storage/storage_options.h>

#include "base/file/file.h"
#include "base/file/file_lock.h"
#include "base/fnv.h"
#include "base/make_error.h"
#include "copy/shard_copy.h"
#include "input/cancel.h"
#include "output/own_names.h"
#include "output/store_claim.h"
#include "output/task_description.h"
#include "places/place.h"
#include "storage/reader/random_reader.h"
#include "storage/stores/object_store.h"

namespace ffkit {
namespace {

// What a copy of a data set consists of, read from its manifests, and what is at its destination.
struct CopiedSplit {
  std::string folder;  // below both places; empty where they are the split itself
  Manifest manifest;
  std::string manifest_text;
};

// Of a place that is to hold the copy.
struct CopyTarget {
  bool is_finished = false;            // all manifests are there, and equal
  std::vector<std::string> manifests;  // addresses of those that are there, and equal
};

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

struct CopyPlan {
  std::vector<CopiedSplit> splits;
  std::optional<std::string> report;  // report.jsonl beside the splits
  std::vector<std::string> notes;     // on what is not copied

  // Identifies what is copied, whatever the places.
  std::string fingerprint() const {
    uint64_t hash = kFnvBasis;
    for (const CopiedSplit& split : splits) {
      hash = fnv1a64(std::as_bytes(std::span(split.folder)), hash);
      hash = fnv1a64(std::as_bytes(std::span(split.manifest_text)), hash);
    }
    return fmt::format("{:016x}", hash);
  }
};

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
        "{}: {} {} not belong to the data set and {} not copied: {}{}", place.shown(), num_others,
        num_others == 1 ? "file does" : "files do", num_others == 1 ? "is" : "are",
        fmt::join(others, ", "), num_others > std::ssize(others) ? ", ..." : ""));
  }
}

std::optional<std::string> report_at(const Place& folder) {
  const std::string address = folder.child(kReportFile).address();
  const std::shared_ptr<ObjectStore> store = store_of(address);
  if (!store->find(address)) return std::nullopt;
  return store->read_all(address, kMostReportBytes);
}

// Throws as copy_dataset() for what is not finished or no data set with manifests.
CopyPlan plan_copy(const Place& place, const std::vector<std::string>& splits) {
  const fs::path& from = place.path();
  if (!place.is_in_store() && !fs::is_directory(from)) {
    throw error_at(from, ErrorCode::not_found, "there is no such folder")
        .with_subject(ErrorSubject::dataset)
        .with_remedy("give the folder of a data set, or of one of its splits");
  }
  refuse_unfinished(from);
  CopyPlan plan;
  if (is_split_folder(from)) {
    if (!splits.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "is one split; to choose splits, give the folder of the data set",
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
                    fmt::format("the data set has no split '{}' with a manifest", split),
                    {.path = absolute_name(from), .subject = ErrorSubject::split, .name = split});
      }
      plan.splits.push_back(split_at_place(from, split));
    }
    plan.report = report_at(place.in_store());
  }
  note_others(place.in_store(), plan);
  return plan;
}

// Throws Error(invalid_argument) when another data set is there, or files of none.
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
      refuse_target(folder,
                    fmt::format("contains '{}', which is not part of the copied data set", name),
                    "give another place, or remove it");
    }
    const std::string manifest = folder.child(kManifestFile).address();
    if (!store->find(manifest)) continue;
    if (store->read_all(manifest, kMostManifestBytes) != split.manifest_text) {
      refuse_target(folder, "this folder contains another data set",
                    "give another place, or remove it");
    }
    target.manifests.push_back(manifest);
  }
  target.is_finished = target.manifests.size() == plan.splits.size();
  return target;
}

constexpr int kMostThreads = 64;
constexpr const char* kCopyKind = "copy";
constexpr int64_t kMostMarkerBytes = 1 << 16;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// CopyMarker: keeps others away from the destination of a copy, and says what is being made there.
//
//   on a disk   the marker, locked as a conversion's
//   in a store  a StoreClaim, and the marker
//
// A copy that ends early leaves the marker, and nothing that holds it.
class CopyMarker {
 public:
  // `to` is asked as a store, `plan` what identifies the data that are copied. Throws
  // Error(invalid_argument) where another process writes, and where anything unfinished is there
  // but a copy of the same data under CopyOptions::resume.
  CopyMarker(std::shared_ptr<ObjectStore> store, Place to, const std::string& plan,
             const CopyOptions& options)
      : store_(std::move(store)),
        to_(std::move(to)),
        address_(to_.child(kUnfinishedMarker).address()) {
    const std::string text = to_text({.kind = kCopyKind, .plan = plan, .command = options.command});
    const auto put = [&] {
      return store_->put(address_, std::as_bytes(std::span(text)), /*only_if_new=*/true);
    };
    bool is_new = false;
    if (to_.is_on_disk()) {
      // A process that ends its copy between two steps makes it necessary to look again.
      do {
        throw_if_cancelled(options.cancel);
        is_new = put();
      } while (!hold_folder_of_marker(options));
    } else {
      claim_.emplace(to_.path(), options.note, [&options] { throw_if_cancelled(options.cancel); });
      is_new = put();
    }
    if (!is_new) require_same(plan, options);
  }

  // Throws Error(invalid_argument) where another process has taken over.
  void require_held() {
    if (claim_) claim_->require_held();
  }

  // The copy is whole.
  void remove() {
    require_held();
    store_->remove(address_);
    lock_.close();
    claim_file_.release();
    if (claim_) claim_->release();
  }

 private:
  // Returns false when the marker is gone.
  bool hold_folder_of_marker(const CopyOptions& options) {
    const fs::path folder = to_.path_on_disk();
    const fs::path marker = folder / kUnfinishedMarker;
    claim_file_.release();
    lock_ = FileLock(open_descriptor(marker, O_RDWR | O_NOFOLLOW));
    if (!lock_.is_open()) {
      if (errno == ENOENT) return false;
      throw io_error_at(marker, "cannot be opened", errno);
    }
    const FolderHold hold = hold_folder(folder, FileLock::Mode::exclusive, lock_, claim_file_);
    if (!hold.is_taken) {
      refuse_target(
          to_, fmt::format("{} is writing to this folder", in_use_by(hold.user, "another process")),
          fmt::format("wait for it or give another folder{}", remedy_for(hold.user)));
    }
    if (!is_open_file_at(marker, lock_.fd())) return false;
    if (options.note && !hold.note.empty()) {
      options.note(fmt::format("{}: {}", folder.string(), hold.note));
    }
    return true;
  }

  void require_same(const std::string& plan, const CopyOptions& options) const {
    const UnfinishedMarker found =
        parse_unfinished_marker(store_->read_all(address_, kMostMarkerBytes));
    if (found.kind != kCopyKind) {
      refuse_target(to_,
                    fmt::format("this place contains an unfinished {} (it has the file {})",
                                found.kind.empty() ? "data set" : found.kind, kUnfinishedMarker),
                    found.command.empty()
                        ? "give another place"
                        : "give another place, or finish it with: " + found.command);
    }
    if (found.plan != plan) {
      refuse_target(to_, "this place contains an unfinished copy of other data",
                    "give another place");
    }
    if (!options.resume) {
      refuse_target(to_, "this place contains an unfinished copy of the same data",
                    "continue the copy with " + option_on("resume"));
    }
  }

  const std::shared_ptr<ObjectStore> store_;
  const Place to_;
  const std::string address_;  // of the marker
  std::optional<StoreClaim> claim_;
  FileLock lock_;
  ClaimFile claim_file_;  // where the file system has no locks
};

struct CopiedShard {
  const CopiedSplit* split = nullptr;
  const ManifestShard* shard = nullptr;
  const FilesThere* there = nullptr;  // of the split, at the destination
};

// Copies shards side by side. The first error ends it.
class ShardCopies {
 public:
  ShardCopies(const Place& from, const Place& to, const CopyPlan& plan, const CopyOptions& options,
              CopySummary& summary)
      : from_(from), to_(to), options_(options), summary_(summary) {
    there_.reserve(plan.splits.size());  // shards point to its elements
    for (const CopiedSplit& split : plan.splits) {
      const FilesThere& there = there_.emplace_back(files_there(to.child(split.folder).path()));
      for (const ManifestShard& shard : split.manifest.shards) {
        tasks_.push_back({&split, &shard, &there});
      }
      progress_.num_samples += split.manifest.num_records();
    }
    progress_.split = fs::path(to.shown()).filename().string();
  }

  // Whether the destination has no file for some shard.
  bool lacks_any() const {
    return std::ranges::any_of(
        tasks_, [](const CopiedShard& task) { return !task.there->contains(task.shard->file); });
  }

  void run() {
    std::vector<std::thread> threads;
    const size_t num_threads =
        std::min(static_cast<size_t>(options_.num_threads), std::max<size_t>(tasks_.size(), 1));
    threads.reserve(num_threads);
    for (size_t i = 0; i < num_threads; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Place target_of(const CopiedShard& task) const {
    return to_.child(task.split->folder).child(task.shard->file);
  }

  void work() {
    while (true) {
      CopiedShard task;
      {
        const std::scoped_lock lock(mutex_);
        if (error_ != nullptr || next_ == tasks_.size()) return;
        task = tasks_[next_++];
      }
      try {
        throw_if_cancelled(options_.cancel);
        copy(task);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (error_ == nullptr) error_ = std::current_exception();
        return;
      }
    }
  }

  void copy(const CopiedShard& task) {
    const ManifestShard& shard = *task.shard;
    const StoredFile source(from_.child(task.split->folder).child(shard.file));
    const StoredFile target(target_of(task));
    const bool is_there = is_equal(target, task);
    if (!is_there) {
      copy_shard(source, target, shard, task.split->manifest.schema, options_.cancel);
    }
    const std::scoped_lock lock(mutex_);
    if (is_there) {
      ++summary_.num_equal_shards;
      progress_.num_before += shard.num_records;
    } else {
      summary_.num_copied_bytes += shard.file_bytes;
    }
    progress_.num_done += shard.num_records;
    progress_.bytes_done = summary_.num_copied_bytes;
    if (options_.progress) options_.progress(progress_);
  }

  static bool is_equal(const StoredFile& target, const CopiedShard& task) {
    const auto found = task.there->find(task.shard->file);
    if (found == task.there->end()) return false;
    if (found->second == task.shard->file_bytes && is_listed_shard(target, *task.shard)) {
      return true;
    }
    throw error_at(target.place.shown(), ErrorCode::invalid_argument,
                   "already exists, but is not the shard to copy")
        .with_subject(ErrorSubject::destination)
        .with_remedy("remove it, or give another place");
  }

  const Place& from_;
  const Place& to_;
  const CopyOptions& options_;
  std::vector<CopiedShard> tasks_;
  std::vector<FilesThere> there_;  // of each split
  std::mutex mutex_;               // guards what follows
  size_t next_ = 0;
  std::exception_ptr error_;
  CopySummary& summary_;
  ConvertProgress progress_;
};

void validate_copy(const CopyOptions& options) {
  if (options.num_threads < 1 || options.num_threads > kMostThreads) {
    throw argument_error("num_threads",
                         fmt::format("{} is {}, expected 1 to {}", option_name("num_threads"),
                                     options.num_threads, kMostThreads));
  }
}

// A copy into its own source, or of a source into itself.
void refuse_same_place(const Place& from, const Place& to) {
  if (endpoint_in_options(from.address()) != endpoint_in_options(to.address())) return;
  const auto is_below = [](const Place& place, const Place& folder) {
    return place.shown().starts_with(folder.shown() + "/");
  };
  std::string what;
  if (from.shown() == to.shown()) what = "the destination is also the source of the copy";
  if (is_below(to, from))
    what = fmt::format("the destination is inside the source '{}'", from.shown());
  if (is_below(from, to))
    what = fmt::format("the destination contains the source '{}'", from.shown());
  if (!what.empty()) refuse_target(to, what, "give another place");
}

}  // namespace

CopySummary copy_dataset(const fs::path& from, const fs::path& to, const CopyOptions& options) {
  validate_copy(options);
  const auto start = std::chrono::steady_clock::now();
  const Place source = Place(from).in_store();
  const Place destination = Place(to).in_store();
  refuse_same_place(source, destination);
  const CopyPlan plan = plan_copy(Place(from), options.splits);
  if (options.note) {
    for (const std::string& note : plan.notes) options.note(note);
  }
  CopySummary summary;
  for (const CopiedSplit& split : plan.splits) {
    summary.splits.push_back(split.manifest.split);
    summary.num_shards += std::ssize(split.manifest.shards);
    summary.num_records += split.manifest.num_records();
    summary.file_bytes += split.manifest.file_bytes();
  }
  const std::shared_ptr<ObjectStore> store = store_of(destination.address());
  const CopyTarget target = look_at_target(plan, destination);
  ShardCopies copies(source, destination, plan, options, summary);
  // What is whole already stays readable while it is compared.
  std::optional<CopyMarker> marker;
  const bool is_marked = store->find(destination.child(kUnfinishedMarker).address()).has_value();
  if (!target.is_finished || copies.lacks_any() || is_marked) {
    marker.emplace(store, destination, plan.fingerprint(), options);
  }
  copies.run();
  throw_if_cancelled(options.cancel);
  if (marker) marker->require_held();
  const std::string report = destination.child(kReportFile).address();
  if (plan.report && !target.is_finished) store->put(report, bytes_of(*plan.report), false);
  for (const CopiedSplit& split : plan.splits) {
    const std::string manifest = destination.child(split.folder).child(kManifestFile).address();
    if (std::ranges::find(target.manifests, manifest) != target.manifests.end()) continue;
    store->put(manifest, bytes_of(split.manifest_text), /*only_if_new=*/false);
  }
  if (marker) marker->remove();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  summary.seconds = seconds.count();
  return summary;
}

}  // namespace ffkit
