#include "resumed_batch.h"

#include <fmt/format.h>

#include <string>

#include <ffkit/base/error.h>
#include <ffkit/trainer/task_registry.h>

namespace ffkit {
namespace {

std::string processes_text(int num) {
  return fmt::format("{} process{}", num, num == 1 ? "" : "es");
}

}  // namespace

TrainOptions with_batch_of(const CheckpointInfo& stored, const std::filesystem::path& checkpoint,
                           TrainOptions options, int world_size, const ResumeOptions& resume) {
  const int64_t before = stored.global_batch_size;
  const int64_t shares = world_size * options.accumulate;
  const int64_t now =
      options.global_batch_size > 0 ? options.global_batch_size : options.batch_size * shares;
  if (resume.accept_batch_change) return options;
  if (now == before && before % shares == 0) return options;
  const std::string& samples = TaskRegistry::instance().find(stored.options.task_name()).samples;
  const ErrorContext context{.path = checkpoint.string()};
  const bool is_left_open = options.global_batch_size == 0 &&
                            options.batch_size == stored.options.batch_size &&
                            options.accumulate == stored.options.accumulate;
  if (!is_left_open && now != before) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a step of its run takes {} {}, but these options make it {} with "
                            "{}; give --global-batch-size {}, or --accept-batch-change "
                            "to go on with {}",
                            before, samples, now, processes_text(world_size), before, now),
                context);
  }
  if (before % shares != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a step of its run takes {} {}, which {} with {} "
                            "batches a step cannot share evenly; start another number of "
                            "processes, or give --accept-batch-change to go on with {} a step",
                            before, samples, processes_text(world_size), options.accumulate, now),
                context);
  }
  options.global_batch_size = before;
  return options;
}

}  // namespace ffkit
