#include <fmt/format.h>

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <ffkit/converter/shard_sink.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/shard_writer.h>

#include "base/make_error.h"
#include "output/destination_checks.h"
#include "output/own_names.h"
#include "output/task_description.h"
#include "samples/sample_queue.h"
#include "storage/addresses/place.h"
#include "storage/writer/file_sink.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxTask = 99'999'999;
constexpr int64_t kMaxShardsOfTask = 100'000;

void require_task(int64_t task) {
  if (task >= 0 && task <= kMaxTask) return;
  throw error_of(ErrorCode::invalid_argument, "a task has a number from 0 to {}, not {}", kMaxTask,
                 task);
}

}  // namespace

struct ShardTask::Impl {
  Impl(std::filesystem::path folder_of_split, const std::string& split, const std::string& job,
       int64_t task, const Schema& schema, const SampleWriterOptions& options)
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
    queue.reset();
    shard.reset();
    if (is_finished) return;
    for (const ManifestShard& written : described.manifest.shards) {
      try {
        remove_file_at(folder / written.file);
      } catch (const std::exception&) {
        continue;  // no description names it
      }
    }
  }

  void append(const EncodedSample& sample) {
    if (!shard) open_shard();
    shard->append(sample.record, sample.stored);
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

  const std::filesystem::path folder;
  const int64_t shard_bytes;
  TaskDescription described;
  bool is_finished = false;
  std::unique_ptr<ShardWriter> shard;
  std::unique_ptr<SampleQueue> queue;  // last: its threads use what is above
};

ShardTask::ShardTask(const std::filesystem::path& destination, const std::string& split,
                     const std::string& job, int64_t task, const Schema& schema,
                     const SampleWriterOptions& options) {
  require_valid_split(split, schema, options);
  require_task(task);
  try {
    impl_ = std::make_unique<Impl>(Place(destination).path() / split, split, job, task, schema,
                                   options);
  } catch (...) {
    throw current_error(destination);
  }
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
  } catch (const Error&) {
    throw;
  } catch (const std::system_error&) {
    throw current_error(impl.folder);
  }
}

std::string ShardTask::describe_empty(const std::string& job, int64_t task) {
  require_task(task);
  return to_text({.job = job, .task = task});
}

}  // namespace ffkit
