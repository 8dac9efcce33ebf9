#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/copy.h>
#include <ffkit/format/dataset.h>

#include "base/make_error.h"
#include "copy/copy_marker.h"
#include "copy/copy_plan.h"
#include "copy/shard_copy.h"
#include "input/cancel.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr int kMostThreads = 64;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct ShardTask {
  const CopiedSplit* split = nullptr;
  const ManifestShard* shard = nullptr;
};

// Copies shards side by side. The first error ends it.
class ShardCopies {
 public:
  ShardCopies(const Place& from, const Place& to, const CopyPlan& plan, const CopyOptions& options,
              CopySummary& summary)
      : from_(from), to_(to), options_(options), summary_(summary) {
    for (const CopiedSplit& split : plan.splits) {
      for (const ManifestShard& shard : split.manifest.shards) tasks_.push_back({&split, &shard});
      progress_.num_samples += split.manifest.num_records();
    }
    progress_.split = fs::path(to.shown()).filename().string();
    for (const CopiedSplit& split : plan.splits) there_.push_back(find_there(split));
  }

  // Whether the destination has no file for some shard.
  bool lacks_any() const {
    return std::ranges::any_of(tasks_, [this](const ShardTask& task) {
      const std::string to = target_of(task).address();
      return std::ranges::none_of(there_,
                                  [&to](const Lengths& lengths) { return lengths.contains(to); });
    });
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
  using Lengths = std::map<std::string, int64_t>;

  Place target_of(const ShardTask& task) const {
    return to_.child(task.split->folder).child(task.shard->file);
  }

  // What the destination has of a split, by one list.
  Lengths find_there(const CopiedSplit& split) const {
    const std::string folder = to_.child(split.folder).address();
    Lengths lengths;
    for (const ListedObject& object : store_of(folder)->list(folder, false).objects) {
      lengths.emplace(object.address, object.facts.num_bytes);
    }
    return lengths;
  }

  void work() {
    while (true) {
      ShardTask task;
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

  void copy(const ShardTask& task) {
    const ManifestShard& shard = *task.shard;
    const StoredFile source(from_.child(task.split->folder).child(shard.file));
    const StoredFile target(target_of(task));
    const bool is_there = is_equal(target, shard);
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

  bool is_equal(const StoredFile& target, const ManifestShard& shard) const {
    const std::string& address = target.place.address();
    const auto has = [&](const Lengths& lengths) { return lengths.contains(address); };
    const auto found = std::ranges::find_if(there_, has);
    if (found == there_.end()) return false;
    if (found->at(address) == shard.file_bytes && is_listed_shard(target, shard)) {
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
  std::vector<ShardTask> tasks_;
  std::vector<Lengths> there_;
  std::mutex mutex_;  // guards what follows
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
  const std::string report = destination.child("report.jsonl").address();
  if (plan.report && !target.is_finished) store->put(report, bytes_of(*plan.report), false);
  for (const CopiedSplit& split : plan.splits) {
    const std::string manifest = destination.child(split.folder).child("manifest.json").address();
    if (std::ranges::find(target.manifests, manifest) != target.manifests.end()) continue;
    store->put(manifest, bytes_of(split.manifest_text), /*only_if_new=*/false);
  }
  if (marker) marker->remove();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  summary.seconds = seconds.count();
  return summary;
}

}  // namespace ffkit
