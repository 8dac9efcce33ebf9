#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include <ffkit/converter/shard_sink.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/shard_writer.h>
#include <ffkit/format/unfinished.h>

#include "base/machine/wait_check.h"
#include "base/make_error.h"
#include "output/destination.h"
#include "output/destination_checks.h"
#include "output/own_names.h"
#include "output/task_description.h"
#include "pack/report.h"
#include "samples/sample_queue.h"
#include "storage/addresses/place.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

constexpr ShardsToldBy kByTasks{
    .who = "the description of its task",
    .remedy = "check that all machines see this folder and that no other job uses it",
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
                     "task {} was written by the job {}, but this is the job {}", described.task,
                     described.job, job);
    }
    const int64_t task = described.task;
    tasks.try_emplace(task, std::move(described));
  }
  for (int64_t task = 0; task < num_tasks; ++task) {
    if (tasks.contains(task)) continue;
    throw error_of(
        ErrorCode::invalid_argument,
        "the description of task {} of {} was not given; give the descriptions of all tasks", task,
        num_tasks);
  }
  if (num_tasks >= 0 && !tasks.empty() && tasks.rbegin()->first >= num_tasks) {
    throw error_of(ErrorCode::invalid_argument, "there is a task {}, but {} tasks are expected",
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
                   "task {} was written with another value of {} than the sink, which has {}",
                   task.task, name, value);
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
                     "the fields of task {} differ from the fields of task {}: {}; give a schema "
                     "for all tasks",
                     task.task, first->task, difference);
    }
    require_same_options(task, *manifest);
    std::ranges::move(task.manifest.shards, std::back_inserter(manifest->shards));
  }
  if (!manifest) {
    throw Error(ErrorCode::invalid_argument,
                "no task has written a sample, but a split needs at least one record");
  }
  return *std::move(manifest);
}

bool has_same_shards(const Manifest& a, const Manifest& b) {
  return std::ranges::equal(a.shards, b.shards, {}, &ManifestShard::file, &ManifestShard::file);
}

constexpr int64_t kMaxTask = 99'999'999;
constexpr int64_t kMaxShardsOfTask = 100'000;

void require_task(int64_t task) {
  if (task >= 0 && task <= kMaxTask) return;
  throw error_of(ErrorCode::invalid_argument,
                 "the number of a task must be between 0 and {}, but it is {}", kMaxTask, task);
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
    throw error_at(folder(), ErrorCode::invalid_argument, "is a finished split with other tasks");
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
  with_errors_of(destination, [&] {
    impl->claim(Destination::Unfinished::remove);
    impl->claimed->note_start_over(options.note, impl->folder());
    impl->claimed->set_plan(plan_of_job(impl->job));
  });
  return ShardSink(std::move(impl));
}

ShardSink ShardSink::take_up(const fs::path& destination, const std::string& split,
                             const std::string& job, const SampleWriterOptions& options) {
  auto impl = std::make_unique<Impl>(Impl{Place(destination).path(), split, options, job, nullptr});
  with_errors_of(destination, [&] {
    const fs::path folder = impl->folder();
    if (!is_file_at(folder / kUnfinishedMarker) && is_file_at(folder / kManifestFile)) return;
    require_job(folder, job);
    impl->claim(Destination::Unfinished::go_on);
    if (impl->claimed->found_plan() != plan_of_job(job)) {
      impl->claimed->keep();
      require_job(folder, job);
    }
  });
  return ShardSink(std::move(impl));
}

SplitSummary ShardSink::commit(const std::vector<std::string>& descriptions, int64_t num_tasks) {
  return with_errors_of(impl_->folder(), [&] { return impl_->commit(descriptions, num_tasks); });
}

void ShardSink::abort() {
  const WaitCheck check(ends_own_waits_once([] { return true; }));
  impl_->claimed.reset();
}

void ShardSink::leave() {
  if (!impl_->claimed) return;
  impl_->claimed->keep();
  impl_->claimed.reset();
}

struct ShardTask::Impl {
  Impl(fs::path folder_of_split, const std::string& split, const std::string& job, int64_t task,
       const Schema& schema, const SampleWriterOptions& options)
      : folder(std::move(folder_of_split)),
        shard_bytes(options.shard_bytes),
        described{.job = job,
                  .task = task,
                  .attempt = random_id(),
                  .manifest = manifest_of_samples(split, schema, options)} {
    described.manifest.classes.clear();  // the driver has them
    described.manifest.class_names.clear();
    described.manifest.source.clear();
    require_job(folder, job);
    queue = std::make_unique<SampleQueue>(schema, options,
                                          [this](const EncodedSample& sample) { append(sample); });
  }

  ~Impl() {
    const WaitCheck check(ends_own_waits_once([this] { return !is_finished; }));
    queue.reset();
    shard.reset();
    if (is_finished) return;
    for (const ManifestShard& written : described.manifest.shards) {
      try {
        remove_file_at(folder / written.file);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled) return;
      } catch (const std::exception&) {  // no description names it
      }
    }
  }

  void append(const EncodedSample& sample) {
    if (!shard) open_shard();
    shard->append(sample.record, sample.stored, sample.content);
    if (shard->bytes_written() >= shard_bytes) close_shard();
  }

  void open_shard() {
    const auto number = std::ssize(described.manifest.shards);
    if (number >= kMaxShardsOfTask) {
      throw error_of(ErrorCode::invalid_argument,
                     "the task has more than {} shards; give it fewer samples, or larger shards",
                     kMaxShardsOfTask);
    }
    require_job(folder, described.job);
    std::string file = task_shard_name(described.task, number, described.attempt);
    const int64_t in_split = described.task * kMaxShardsOfTask + number;
    shard = std::make_unique<ShardWriter>(
        folder / file, described.manifest.schema,
        ShardWriterOptions{.uuid = shard_uuid(described.manifest, in_split),
                           .compression = queue->compression(),
                           .expected_bytes = shard_bytes});
    described.manifest.shards.push_back({{}, std::move(file)});
  }

  void close_shard() {
    require_job(folder, described.job);
    static_cast<ShardSummary&>(described.manifest.shards.back()) = shard->finish();
    shard.reset();
  }

  const fs::path folder;
  const int64_t shard_bytes;
  TaskDescription described;
  bool is_finished = false;
  std::unique_ptr<ShardWriter> shard;
  std::unique_ptr<SampleQueue> queue;  // last: its threads use what is above
};

ShardTask::ShardTask(const fs::path& destination, const std::string& split, const std::string& job,
                     int64_t task, const Schema& schema, const SampleWriterOptions& options) {
  require_valid_split(split, schema, options);
  require_task(task);
  impl_ = with_errors_of(destination, [&] {
    return std::make_unique<Impl>(Place(destination).path() / split, split, job, task, schema,
                                  options);
  });
}

ShardTask::~ShardTask() {
  if (impl_ != nullptr && !impl_->queue->is_of_this_process()) static_cast<void>(impl_.release());
}

const Schema& ShardTask::schema() const noexcept {
  return impl_->queue->schema();
}

int64_t ShardTask::write(SampleWriter::SetFields set_fields, int64_t num_bytes) {
  impl_->queue->require_this_process(impl_->folder);
  return impl_->queue->write(std::move(set_fields), num_bytes);
}

std::string ShardTask::finish() {
  Impl& impl = *impl_;
  try {
    impl.queue->finish();
    if (impl.shard) impl.close_shard();
    // The driver removes what it sees after it has given the job up; what it did not see goes here.
    require_job(impl.folder, impl.described.job);
    std::string text = impl.described.manifest.shards.empty()
                           ? describe_empty(impl.described.job, impl.described.task)
                           : to_text(impl.described);
    impl.is_finished = true;
    return text;
  } catch (const std::system_error&) {
    throw current_error(impl.folder);
  }
}

std::string ShardTask::describe_empty(const std::string& job, int64_t task) {
  require_task(task);
  return to_text({.job = job, .task = task});
}

}  // namespace ffkit
