#include "job_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/make_error.h"
#include "launchers.h"

namespace ffkit {
namespace {

constexpr LaunchWords kPartWords = {
    .no_number =
        "the environment variable {name} is '{value}', which is not a number from 0 to 2147483647; "
        "correct the program that starts the processes, or {detail}",
    .missing =
        "the environment variable {other} is set, but {name} is not; correct the program that "
        "starts the processes, or {detail}",
    .too_high =
        "{name} is {value}, but {other} is only {other_value}; correct the program that starts the "
        "processes, or {detail}",
    .rank_alone =
        "{name} is {value}, but no variable gives the number of processes; start the processes "
        "with mpirun, or {detail}",
    .disagree = "{detail}"};

constexpr LaunchWords kLoaderWords = {
    .no_number =
        "the environment variable {name} is '{value}', which is not a number; unset the variable, "
        "or give rank and world_size",
    .missing =
        "the environment variable {other} is {other_value}, but {name} is not set, so the share of "
        "this process is not known; make the loader after torch.distributed is initialised, or "
        "give rank and world_size",
    .too_high =
        "the environment variable {name} is {value} and {other} is {other_value}, but {name} must "
        "be between 0 and {other} - 1; give rank and world_size",
    .rank_alone =
        "the environment variable {name} is {value}, but no variable gives the number of ranks, so "
        "the share of this process is not known; start the processes with mpirun, or make the "
        "loader after torch.distributed is initialised, or give rank and world_size",
    .disagree =
        "make the loader after torch.distributed is initialised, or give rank and "
        "world_size"};

constexpr const char* kArrayTask = "SLURM_ARRAY_TASK_ID";

[[noreturn]] void refuse_part(const Variables& v, const std::string& message) {
  throw error_of(ErrorCode::invalid_argument, "{}, or {}", message, v.detail());
}

// The list of numbers that the array was submitted with is in no variable.
std::optional<JobPlace> place_in_array(const Variables& v) {
  if (!v.has(kArrayTask)) return std::nullopt;
  constexpr const char* kArrayFirst = "SLURM_ARRAY_TASK_MIN";
  constexpr const char* kArrayLast = "SLURM_ARRAY_TASK_MAX";
  constexpr const char* kArrayStep = "SLURM_ARRAY_TASK_STEP";
  constexpr const char* kArrayCount = "SLURM_ARRAY_TASK_COUNT";
  const int64_t task = v.required({kArrayTask}, kArrayTask);
  const int64_t first = v.required({kArrayFirst}, kArrayTask);
  const int64_t last = v.required({kArrayLast}, kArrayTask);
  const int64_t count = v.required({kArrayCount}, kArrayTask);
  const int64_t step = v.number({kArrayStep}).value_or(1);
  if (step < 1 || count < 1 || task < first || task > last) {
    refuse_part(v, fmt::format("{} is {}, but the array has {} tasks from {} to {} in steps "
                               "of {}; correct the program that starts the processes",
                               kArrayTask, task, count, first, last, step));
  }
  const bool has_gaps = (last - first) / step + 1 != count || (last - first) % step != 0 ||
                        (task - first) % step != 0;
  if (has_gaps) {
    refuse_part(
        v,
        fmt::format(
            "the job array has {} tasks from {} to {} with gaps, and a task cannot find out which "
            "numbers are missing; submit an array without gaps, such as sbatch --array={}-{}",
            count, first, last, first, first + count - 1));
  }
  return JobPlace{.index = (task - first) / step, .count = count, .found_by = kArrayTask};
}

[[noreturn]] void refuse_without_place(const Variables& v) {
  if (!is_in_slurm(v)) refuse_rank_alone(v);
  std::string asked = kArrayTask;
  for (const LauncherNames& names : mpi_launchers()) asked += fmt::format(", {}", names.rank);
  const std::string looked_for = fmt::format(
      "the number of this process is unknown: {} and {} are not set, and srun did not start the "
      "process (see {})",
      asked, kTorchNames.rank, names_of_step(v).rank);
  if (const std::optional<std::string> job = v.text({"SLURM_JOB_ID"})) {
    refuse_part(v, fmt::format("{}. The process runs in the Slurm job {}; put srun before the "
                               "command, or submit a job array (sbatch --array=1-8)",
                               looked_for, *job));
  }
  refuse_part(
      v, looked_for + "; start the process with srun, mpirun, torchrun or a job array of Slurm");
}

}  // namespace

JobPlace find_job_place(const Environment& environment, const std::string& otherwise) {
  const Variables v(environment, kPartWords, otherwise);
  std::optional<JobPlace> task = place_in_array(v);
  const std::optional<Starter> starter = find_starter(v);
  if (!task && !starter) refuse_without_place(v);
  std::optional<JobPlace> process;
  if (starter)
    process = {.index = starter->rank, .count = starter->size, .found_by = starter->names.rank};
  if (!task) return *std::move(process);
  if (!process) return *std::move(task);
  return {.index = task->index * process->count + process->index,
          .count = task->count * process->count,
          .found_by = fmt::format("{} and {}", task->found_by, process->found_by)};
}

std::optional<JobPlace> find_loader_place(const Environment& environment) {
  const Variables v(environment, kLoaderWords);
  if (const std::optional<Starter> starter = find_starter(v)) {
    return JobPlace{.index = starter->rank,
                    .count = starter->size,
                    .found_by = fmt::format("{} and {}", starter->names.rank, starter->names.size)};
  }
  if (!is_in_slurm(v)) refuse_rank_alone(v);
  return std::nullopt;
}

int loaders_on_node(const Environment& environment) {
  const Variables v(environment, kLoaderWords);
  const auto count_of = [&v](const char* name) {
    return name == nullptr ? 0 : v.number({name}).value_or(0);
  };
  if (const int64_t count = count_of("LOCAL_WORLD_SIZE"); count > 0) return int(count);
  for (const LauncherNames& names : mpi_launchers()) {
    for (const char* name : names.local_size) {
      if (const int64_t count = count_of(name); count > 0) return int(count);
    }
    const int64_t nodes = count_of(names.num_nodes);
    if (nodes > 0 && count_of(names.size) > 0)
      return int((count_of(names.size) + nodes - 1) / nodes);
  }
  return is_task_of_srun(v) ? std::max(1, tasks_of_first_node(v)) : 1;
}

}  // namespace ffkit
