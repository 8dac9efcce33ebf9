#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/copy.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "base/file/file.h"
#include "base/file/file_lock.h"
#include "base/make_error.h"
#include "copy/copy_plan.h"
#include "copy/shard_copy.h"
#include "input/cancel.h"
#include "output/own_names.h"
#include "output/store_claim.h"
#include "output/task_description.h"
#include "storage/addresses/place.h"
#include "storage/stores/object_store.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

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
             const CopyOptions& options);

  // Throws Error(invalid_argument) where another process has taken over.
  void require_held();
  // The copy is whole.
  void remove();

 private:
  bool hold_folder_of_marker(const CopyOptions& options);
  void require_same(const std::string& plan, const CopyOptions& options) const;
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const;

  const std::shared_ptr<ObjectStore> store_;
  const Place to_;
  const std::string address_;  // of the marker
  std::optional<StoreClaim> claim_;
  FileLock lock_;
  ClaimFile claim_file_;  // where the file system has no locks
};

CopyMarker::CopyMarker(std::shared_ptr<ObjectStore> store, Place to, const std::string& plan,
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

// Returns false when the marker is gone.
bool CopyMarker::hold_folder_of_marker(const CopyOptions& options) {
  const fs::path folder = to_.path_on_disk();
  const fs::path marker = folder / kUnfinishedMarker;
  claim_file_.release();
  lock_ = FileLock(open_descriptor(marker, O_RDWR | O_NOFOLLOW));
  if (!lock_.is_open()) {
    if (errno == ENOENT) return false;
    throw Error(ErrorCode::io, "cannot be opened", {.path = marker.string(), .errno_value = errno});
  }
  const FolderHold hold = hold_folder(folder, FileLock::Mode::exclusive, lock_, claim_file_);
  if (!hold.is_taken) {
    refuse(fmt::format("{} is writing to this folder", in_use_by(hold.user, "another process")),
           fmt::format("wait for it or give another folder{}", remedy_for(hold.user)));
  }
  if (!lock_.is_still_at(marker)) return false;
  if (options.note && !hold.note.empty()) {
    options.note(fmt::format("{}: {}", folder.string(), hold.note));
  }
  return true;
}

void CopyMarker::require_same(const std::string& plan, const CopyOptions& options) const {
  const UnfinishedMarker found =
      parse_unfinished_marker(store_->read_all(address_, kMostMarkerBytes));
  if (found.kind != kCopyKind) {
    refuse(fmt::format("an unfinished {} is there ({})",
                       found.kind.empty() ? "data set" : found.kind, kUnfinishedMarker),
           found.command.empty() ? "give another place"
                                 : "give another place, or finish it with: " + found.command);
  }
  if (found.plan != plan) refuse("an unfinished copy of other data is there", "give another place");
  if (!options.resume) {
    refuse("an unfinished copy of the same data is there", "go on with " + option_on("resume"));
  }
}

void CopyMarker::require_held() {
  if (claim_) claim_->require_held();
}

void CopyMarker::remove() {
  require_held();
  store_->remove(address_);
  lock_.close();
  claim_file_.release();
  if (claim_) claim_->release();
}

void CopyMarker::refuse(const std::string& what, const std::string& remedy) const {
  throw Error(ErrorCode::invalid_argument, what,
              {.path = to_.shown(), .subject = ErrorSubject::destination, .remedy = remedy});
}

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
    throw Error(ErrorCode::invalid_argument, "is there already, and is not the shard to be copied",
                {.path = target.place.shown(),
                 .subject = ErrorSubject::destination,
                 .remedy = "take it away, or give another place"});
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
    throw argument_error("threads",
                         fmt::format("{} is {}; it must be 1 to {}", option_name("threads"),
                                     options.num_threads, kMostThreads));
  }
}

// A copy into its own source, or of a source into itself.
void refuse_same_place(const Place& from, const Place& to) {
  const auto is_below = [](const Place& place, const Place& folder) {
    return place.address().starts_with(folder.address() + "/");
  };
  std::string what;
  if (from.address() == to.address()) what = "is what is to be copied";
  if (is_below(to, from)) what = fmt::format("lies in '{}'", from.shown());
  if (is_below(from, to)) what = fmt::format("holds '{}' already", from.shown());
  if (what.empty()) return;
  throw Error(
      ErrorCode::invalid_argument, what,
      {.path = to.shown(), .subject = ErrorSubject::destination, .remedy = "give another place"});
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
