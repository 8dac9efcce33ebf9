#include "run_options.h"

#include <string>

#include <ffkit/trainer/task_registry.h>

#include "base/make_error.h"
#include "options/options_json.h"

namespace ffkit {

namespace fs = std::filesystem;

TrainOptions with_settings_of(const fs::path& weights, TrainOptions options,
                              Communicator& communicator) {
  const TaskEntry& task = TaskRegistry::instance().find(options.task_name());
  if (weights.empty() || !task.take_settings) return options;
  std::string text;
  on_rank_0(communicator, [&] {
    task.take_settings(options, weights);
    text = options_to_json(options);
  });
  options.any_task_options = options_from_json(communicator.broadcast(text), "").any_task_options;
  return options;
}

void require_task(const CheckpointInfo& stored, const fs::path& checkpoint,
                  const TrainOptions& options) {
  if (stored.options.task_name() == options.task_name()) return;
  throw error_at(checkpoint, ErrorCode::invalid_argument, "is of the task {}, but {} was asked for",
                 stored.options.task_name(), options.task_name());
}

}  // namespace ffkit
