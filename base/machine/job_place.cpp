#include "machine/job_place.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>

#include "machine/launchers.h"

namespace ffkit {
namespace {

constexpr const char* kArrayTask = "SLURM_ARRAY_TASK_ID";
constexpr const char* kArrayFirst = "SLURM_ARRAY_TASK_MIN";
constexpr const char* kArrayLast = "SLURM_ARRAY_TASK_MAX";
constexpr const char* kArrayStep = "SLURM_ARRAY_TASK_STEP";
constexpr const char* kArrayCount = "SLURM_ARRAY_TASK_COUNT";
constexpr const char* kSlurmRank = "SLURM_PROCID";
constexpr RankNames kTorchRanks = {"RANK", "WORLD_SIZE", false};

class JobVariables {
 public:
  JobVariables(const ReadVariable& environment, const std::string& otherwise)
      : environment_(environment), otherwise_(otherwise) {}

  // Variables that are set to nothing count as not set.
  std::optional<std::string> text(const char* name) const {
    std::optional<std::string> value = environment_(name);
    if (value && value->empty()) value.reset();
    return value;
  }
  bool has(const char* name) const { return text(name).has_value(); }

  // Of a variable that must be there because `because` is.
  int64_t number(const char* name, const char* because) const {
    const std::optional<std::string> value = text(name);
    if (!value) {
      refuse(
          fmt::format("the environment variable {} is set, but {} is not; mend what starts the "
                      "processes",
                      because, name));
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc() || end != value->data() + value->size() || number < 0 ||
        number > std::numeric_limits<int>::max()) {
      refuse(
          fmt::format("the environment variable {} is '{}', which is no number from 0 to {}; "
                      "mend what starts the processes",
                      name, *value, std::numeric_limits<int>::max()));
    }
    return number;
  }

  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}, or {}", message, otherwise_));
  }

 private:
  const ReadVariable& environment_;
  const std::string& otherwise_;
};

JobPlace place_by(const JobVariables& v, const RankNames& names) {
  JobPlace place{.index = v.number(names.rank, names.size),
                 .count = v.number(names.size, names.rank),
                 .found_by = names.rank};
  if (place.index >= place.count) {
    v.refuse(fmt::format("{} is {}, but {} is only {}; mend what starts the processes", names.rank,
                         place.index, names.size, place.count));
  }
  return place;
}

// The list of numbers that the array was submitted with is in no variable.
std::optional<JobPlace> place_in_array(const JobVariables& v) {
  if (!v.has(kArrayTask)) return std::nullopt;
  const int64_t task = v.number(kArrayTask, kArrayTask);
  const int64_t first = v.number(kArrayFirst, kArrayTask);
  const int64_t last = v.number(kArrayLast, kArrayTask);
  const int64_t count = v.number(kArrayCount, kArrayTask);
  const int64_t step = v.has(kArrayStep) ? v.number(kArrayStep, kArrayTask) : 1;
  if (step < 1 || count < 1 || task < first || task > last) {
    v.refuse(fmt::format(
        "{} is {}, which is none of an array of {} tasks from {} to {} in steps of {}; mend what "
        "starts the processes",
        kArrayTask, task, count, first, last, step));
  }
  const bool has_gaps = (last - first) / step + 1 != count || (last - first) % step != 0 ||
                        (task - first) % step != 0;
  if (has_gaps) {
    v.refuse(fmt::format(
        "the job array has {} tasks from {} to {} with gaps, and Slurm does not tell a task which "
        "ones are left out; submit an array without gaps, such as sbatch --array={}-{}",
        count, first, last, first, first + count - 1));
  }
  return JobPlace{.index = (task - first) / step, .count = count, .found_by = kArrayTask};
}

bool is_task_of_srun(const JobVariables& v) {
  // prterun starts its daemons by srun where it can: Slurm's variables are theirs.
  if (!v.has(kSlurmRank) || v.has("PRTE_LAUNCHED")) return false;
  return is_step_of_srun(v.has("SLURM_STEP_ID") ? v.text("SLURM_STEP_ID") : v.text("SLURM_STEPID"));
}

JobPlace place_in_step(const JobVariables& v) {
  constexpr const char* kTasksOfStep = "SLURM_STEP_NUM_TASKS";
  return place_by(
      v, {kSlurmRank, v.has(kTasksOfStep) ? kTasksOfStep : "SLURM_NTASKS", /*is_certain=*/false});
}

// What started this process among others. Several may have left their variables, one inside the
// other: those of the innermost count, and where that is not known all must say the same.
std::optional<JobPlace> launched_place(const JobVariables& v) {
  // torchrun and mpirun may have been started by srun, a process on each machine.
  if (v.has("TORCHELASTIC_RUN_ID")) return place_by(v, kTorchRanks);
  std::vector<JobPlace> places;
  for (const RankNames& names : kMpiRanks) {
    if (!v.has(names.rank)) continue;
    const bool is_certain = names.is_certain || v.has(kLocalRankOfMpiexec);
    if (!is_certain && is_task_of_srun(v)) places.push_back(place_in_step(v));
    places.push_back(place_by(v, names));
    break;
  }
  if (places.empty() && is_task_of_srun(v)) places.push_back(place_in_step(v));
  if (v.has(kTorchRanks.rank) && v.has(kTorchRanks.size)) {
    places.push_back(place_by(v, kTorchRanks));
  }
  if (places.empty()) {
    if (v.has(kTorchRanks.rank) || v.has(kTorchRanks.size)) place_by(v, kTorchRanks);
    return std::nullopt;
  }
  for (const JobPlace& other : places) {
    const JobPlace& first = places.front();
    if (other.index == first.index && other.count == first.count) continue;
    v.refuse(fmt::format(
        "two launchers say different things: by {} this is process {} of {}, by {} process {} of "
        "{}, counted from 0; unset the variables of the one that did not start it",
        first.found_by, first.index, first.count, other.found_by, other.index, other.count));
  }
  return places.front();
}

[[noreturn]] void refuse_without_place(const JobVariables& v) {
  for (const char* name : kRanksAlone) {
    if (v.has(kSlurmRank) || !v.has(name)) continue;
    v.refuse(fmt::format(
        "{} is {}, but no variable says how many processes were started; start them by mpirun",
        name, *v.text(name)));
  }
  std::string asked = kArrayTask;
  for (const RankNames& names : kMpiRanks) asked += fmt::format(", {}", names.rank);
  const std::string looked_for = fmt::format(
      "nothing says which process of how many this is: not set are {} and {}, and no srun has "
      "started it ({})",
      asked, kTorchRanks.rank, kSlurmRank);
  if (const std::optional<std::string> job = v.text("SLURM_JOB_ID")) {
    v.refuse(
        fmt::format("{}: it is one process of Slurm's job {}; put srun before the command, "
                    "or submit a job array (sbatch --array=1-8)",
                    looked_for, *job));
  }
  v.refuse(looked_for + "; start it by srun, mpirun, torchrun or in a job array of Slurm");
}

}  // namespace

ReadVariable variables_of_process() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

JobPlace find_job_place(const ReadVariable& environment, const std::string& otherwise) {
  const JobVariables v(environment, otherwise);
  std::optional<JobPlace> task = place_in_array(v);
  std::optional<JobPlace> process = launched_place(v);
  if (!task && !process) refuse_without_place(v);
  if (!task) return *std::move(process);
  if (!process) return *std::move(task);
  return {.index = task->index * process->count + process->index,
          .count = task->count * process->count,
          .found_by = fmt::format("{} and {}", task->found_by, process->found_by)};
}

}  // namespace ffkit
