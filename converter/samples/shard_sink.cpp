#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <ffkit/converter/shard_sink.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/unfinished.h>

#include "base/make_error.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "output/own_names.h"
#include "output/split_summary.h"
#include "output/task_description.h"
#include "samples/sample_queue.h"
#include "storage/addresses/place.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr ShardsToldBy kByTasks{
    .who = "what its task has described",
    .remedy = "do all machines see this folder, and is it no longer another's?",
    .subject = ErrorSubject::destination};

// What attempts that do not count have left.
void remove_other_shards(const fs::path& folder, const std::vector<ManifestShard>& shards,
                         const FilesThere& files) {
  std::set<std::string_view> named;
  for (const ManifestShard& shard : shards) named.insert(shard.file);
  for (const auto& [name, num_bytes] : files) {
    const bool is_ours = is_shard_name(name) || is_temporary_name(name);
    if (!is_ours || named.contains(name)) continue;
    if (Place(folder).is_in_store()) {
      remove_file_at(folder / name);
    } else {
      std::error_code gone;
      fs::remove(folder / name, gone);
    }
  }
}

// One description of each task, ordered by task.
std::vector<TaskDescription> tasks_of(const std::vector<std::string>& descriptions,
                                      const std::string& job, int64_t num_tasks) {
  std::map<int64_t, TaskDescription> tasks;
  for (const std::string& text : descriptions) {
    TaskDescription described = parse_task_description(text);
    if (described.job != job) {
      throw error_of(ErrorCode::invalid_argument,
                     "task {} was written by the job {}, and this is the job {}", described.task,
                     described.job, job);
    }
    const int64_t task = described.task;
    tasks.try_emplace(task, std::move(described));
  }
  for (int64_t task = 0; task < num_tasks; ++task) {
    if (tasks.contains(task)) continue;
    throw error_of(ErrorCode::invalid_argument,
                   "task {} of {} is missing: nothing describes what it has written", task,
                   num_tasks);
  }
  if (num_tasks >= 0 && !tasks.empty() && tasks.rbegin()->first >= num_tasks) {
    throw error_of(ErrorCode::invalid_argument, "there is a task {}, and there should be {}",
                   tasks.rbegin()->first, num_tasks);
  }
  std::vector<TaskDescription> ordered;
  ordered.reserve(tasks.size());
  for (auto& [task, described] : tasks) ordered.push_back(std::move(described));
  return ordered;
}

// The options as of a task, which may be given no others.
void require_same_options(const TaskDescription& task, const Manifest& manifest) {
  for (const auto& [name, value] : manifest.options) {
    const auto found = task.manifest.options.find(name);
    if (found != task.manifest.options.end() && found->second == value) continue;
    throw error_of(ErrorCode::invalid_argument,
                   "task {} was written with another {} than the sink's, which is {}", task.task,
                   name, value);
  }
}

Manifest manifest_of_tasks(std::vector<TaskDescription>& tasks, const std::string& split,
                           const SampleWriterOptions& options) {
  const TaskDescription* first = nullptr;
  std::optional<Manifest> manifest;
  for (TaskDescription& task : tasks) {
    if (task.manifest.shards.empty()) continue;
    if (!manifest) {
      first = &task;
      manifest = manifest_of_samples(split, task.manifest.schema, options);
    }
    if (const std::string difference = task.manifest.schema.difference(manifest->schema);
        !difference.empty()) {
      throw error_of(ErrorCode::invalid_argument,
                     "the samples of task {} have other fields than those of task {}: {}; give a "
                     "schema",
                     task.task, first->task, difference);
    }
    require_same_options(task, *manifest);
    std::ranges::move(task.manifest.shards, std::back_inserter(manifest->shards));
  }
  if (!manifest) {
    throw Error(ErrorCode::invalid_argument,
                "no task has written a sample; a split needs at least one record");
  }
  return *std::move(manifest);
}

bool has_same_shards(const Manifest& a, const Manifest& b) {
  return std::ranges::equal(a.shards, b.shards, {}, &ManifestShard::file, &ManifestShard::file);
}

}  // namespace

struct ShardSink::Impl {
  fs::path destination;
  std::string split;
  SampleWriterOptions options;
  std::string job;
  std::unique_ptr<Destination> claimed;  // nothing: over, left, or finished before

  fs::path folder() const { return destination / split; }

  void claim(Destination::Unfinished unfinished) {
    claimed = Destination::claim(folder(), {.kind = Destination::Kind::split,
                                            .unfinished = unfinished,
                                            .note = options.note,
                                            .poll = options.poll});
  }

  SplitSummary commit(const std::vector<std::string>& descriptions, int64_t num_tasks) {
    std::vector<TaskDescription> tasks = tasks_of(descriptions, job, num_tasks);
    const Manifest manifest = manifest_of_tasks(tasks, split, options);
    if (!claimed) return finished_before(manifest);
    const auto files = files_there(folder());
    require_shards(folder(), manifest.shards, files, kByTasks);
    claimed->require_held();
    remove_other_shards(folder(), manifest.shards, files);
    write_manifest(folder() / kManifestFile, manifest);
    claimed->commit();
    claimed.reset();
    return summary_of(manifest);
  }

  SplitSummary finished_before(const Manifest& manifest) const {
    const Manifest there = read_manifest(folder() / kManifestFile);
    if (has_same_shards(there, manifest)) return summary_of(there);
    throw error_at(folder(), ErrorCode::invalid_argument,
                   "is a finished split, and not what these tasks have written");
  }
};

ShardSink::ShardSink(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ShardSink::~ShardSink() = default;
ShardSink::ShardSink(ShardSink&&) noexcept = default;
ShardSink& ShardSink::operator=(ShardSink&&) noexcept = default;

std::string ShardSink::new_job() {
  return random_id();
}

const std::string& ShardSink::job() const noexcept {
  return impl_->job;
}

ShardSink ShardSink::begin(const fs::path& destination, const std::string& split,
                           const SampleWriterOptions& options, std::string job) {
  // A schema is known when samples come.
  const Schema any{{{.name = "any"}}};
  require_valid_split(split, any, options);
  refuse_unfinished(destination);
  auto impl = std::make_unique<Impl>(Impl{Place(destination).path(), split, options,
                                          job.empty() ? new_job() : std::move(job), nullptr});
  try {
    impl->claim(Destination::Unfinished::remove);
    impl->claimed->note_start_over(options.note, impl->folder());
    impl->claimed->set_plan(plan_of_job(impl->job));
  } catch (...) {
    throw current_error(destination);
  }
  return ShardSink(std::move(impl));
}

ShardSink ShardSink::take_up(const fs::path& destination, const std::string& split,
                             const std::string& job, const SampleWriterOptions& options) {
  auto impl = std::make_unique<Impl>(Impl{Place(destination).path(), split, options, job, nullptr});
  try {
    const fs::path folder = impl->folder();
    if (!is_file_at(folder / kUnfinishedMarker) && is_file_at(folder / kManifestFile)) {
      return ShardSink(std::move(impl));
    }
    require_job(folder, job);
    impl->claim(Destination::Unfinished::go_on);
    if (impl->claimed->found_plan() != plan_of_job(job)) {
      impl->claimed->keep();
      require_job(folder, job);
    }
  } catch (...) {
    throw current_error(destination);
  }
  return ShardSink(std::move(impl));
}

SplitSummary ShardSink::commit(const std::vector<std::string>& descriptions, int64_t num_tasks) {
  try {
    return impl_->commit(descriptions, num_tasks);
  } catch (...) {
    throw current_error(impl_->folder());
  }
}

void ShardSink::abort() {
  impl_->claimed.reset();
}

void ShardSink::leave() {
  if (!impl_->claimed) return;
  impl_->claimed->keep();
  impl_->claimed.reset();
}

}  // namespace ffkit
