#include <optional>

#include <ffkit/base/error.h>
#include <ffkit/format/dataset.h>
#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/trainer.h>

namespace ffkit {
namespace {

// Of the first data set, whose task is the others' too. Nothing when there is no such split.
std::optional<Dataset> find_split(const TrainOptions& options, const char* split) {
  try {
    return Dataset::open(options.data.folders().front().path, split,
                         {.max_record_bytes = options.max_record_bytes});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    return std::nullopt;
  }
}

}  // namespace

TrainOptions with_task(TrainOptions options) {
  const TaskRegistry& tasks = TaskRegistry::instance();
  if (options.task.empty() && !options.dummy && !options.data.empty()) {
    // nuScenes' small version has splits of other names.
    for (const char* split : {"train", "val", "mini_train", "mini_val"}) {
      const std::optional<Dataset> found = find_split(options, split);
      if (!found) continue;
      options.task = tasks.find_for(found->schema(), found->path().string()).name;
      break;
    }
  }
  options.task = tasks.find(options.task_name()).name;
  return options;
}

}  // namespace ffkit
