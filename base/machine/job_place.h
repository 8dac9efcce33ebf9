// JobPlace: the number of this process among those that share a work, by the environment that a job
// array or a launcher gives it. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ffkit {

struct JobPlace {
  int64_t index = 0;  // 0 .. count-1
  int64_t count = 1;
  std::string found_by;  // the variables: "SLURM_ARRAY_TASK_ID and SLURM_PROCID"
};

// The value of an environment variable; nothing if it is not set.
using ReadVariable = std::function<std::optional<std::string>(const char* name)>;
ReadVariable variables_of_process();

// What is asked: a job array of Slurm (SLURM_ARRAY_TASK_ID and its kin); then who started this
// process: torchrun, MPI's launchers (launchers.h), srun, or anything that sets RANK and
// WORLD_SIZE. In an array each task may have processes of its own: their numbers follow one another
// from task to task. Throws Error(invalid_argument) that names the variables when there are none,
// when they are incomplete, or when two launchers say different things. `otherwise`: what the user
// can do instead, "give part i/n".
JobPlace find_job_place(const ReadVariable& environment, const std::string& otherwise);

}  // namespace ffkit
